import type { ChatRecord, Outcome } from "../chat-records.ts";
import { make } from "./elements.ts";

export type Approval = Extract<ChatRecord, { type: "approval" }>;

/** Gives what to say until the stream has the outcome. */
export type Decide = (approved: boolean) => Promise<string>;

export type ApprovalCard = { item: HTMLElement; showOutcome(outcome: Outcome): void };

const HEADINGS: Record<Outcome, string> = {
  approved: "✓ Approved",
  refused: "✕ Refused",
  expired: "Expired: nobody decided",
  stopped: "Stopped: nothing is done",
};

/**
 * What the assistant wants to do, with the buttons that decide; `leave` takes the focus when the button that has it goes.
 */
export function createApproval(
  { action, tokenId, expiresAt }: Approval,
  decide: Decide,
  leave: () => void,
): ApprovalCard {
  const heading = make("h2", { id: `heading-${tokenId}`, textContent: "Approval needed" });
  const time = new Date(expiresAt).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  const note = make("p", {
    className: "note",
    textContent: `Until ${time}. Without an answer nothing is done.`,
  });
  note.setAttribute("role", "status");
  const approve = make("button", { className: "primary", textContent: "Approve" });
  const refuse = make("button", { textContent: "Refuse" });
  const buttons = make("div", { className: "buttons" }, approve, refuse);
  // The list item keeps its role; what belongs together is a group in it.
  const group = make(
    "div",
    {},
    heading,
    make("p", { className: "action", textContent: action }),
    note,
    buttons,
  );
  group.setAttribute("role", "group");
  group.setAttribute("aria-labelledby", heading.id);
  const item = make("li", { className: "approval" }, group);

  async function onClick(approved: boolean): Promise<void> {
    // Not disabled: a disabled button loses the focus.
    for (const button of [approve, refuse]) button.ariaDisabled = "true";
    note.textContent = "Sending";
    try {
      note.textContent = await decide(approved);
    } catch (error) {
      note.textContent = `Not sent: ${(error as Error).message}`;
      for (const button of [approve, refuse]) button.ariaDisabled = "false";
    }
  }
  for (const [button, approved] of [
    [approve, true],
    [refuse, false],
  ] as const) {
    button.type = "button";
    button.addEventListener("click", () => {
      if (button.ariaDisabled !== "true") void onClick(approved);
    });
  }

  return {
    item,
    showOutcome(outcome) {
      item.dataset["outcome"] = outcome;
      heading.textContent = HEADINGS[outcome];
      const hadFocus = buttons.contains(document.activeElement);
      buttons.remove();
      note.remove();
      if (hadFocus) leave();
    },
  };
}
