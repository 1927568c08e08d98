import type { ChatRecord } from "../chat-records.ts";
import { createApproval, type Approval, type ApprovalCard, type Decide } from "./approval-card.ts";
import { byId, make } from "./elements.ts";

/** What is shown is set as text, never as markup: it comes from other people and from a model. */
export type MessageList = {
  /** Shows a record of the output stream. */
  show(record: ChatRecord, correlationId: string, createdAt: Date): void;
  /** Shows what is being sent until its record has come. */
  addSending(correlationId: string, text: string): void;
  markSent(correlationId: string): void;
  removeSending(correlationId: string): void;
};

type State = {
  log: HTMLElement;
  /** Sent, and not yet in the stream, by correlation id. */
  sending: Map<string, { item: HTMLElement; note: HTMLElement }>;
  /** The answer that is being written to a message, by correlation id. */
  open: Map<string, HTMLElement>;
  /** By token. */
  approvals: Map<string, ApprovalCard>;
  turn: number;
  decide: (approval: Approval) => Decide;
  leave: () => void;
};

type Of<Type extends ChatRecord["type"]> = Extract<ChatRecord, { type: Type }>;

/** Closer to the end than this, the reader wants to see what comes. */
const NEAR_END_PX = 80;

/** `decide` says how an approval is decided; `leave` takes the focus when what has it goes. */
export function createMessageList({ decide, leave }: Pick<State, "decide" | "leave">): MessageList {
  const scroller = byId("scroller", HTMLElement);
  const announcer = byId("announcer", HTMLElement);
  const openedAt = new Date();
  const log = byId("log", HTMLOListElement);
  const maps = { sending: new Map(), open: new Map(), approvals: new Map() };
  const state: State = { log, ...maps, turn: 1, decide, leave };
  return {
    show(record, correlationId, createdAt) {
      const isNearEnd = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR_END_PX;
      const said = showRecord(state, record, correlationId);
      if (isNearEnd) scroller.scrollTop = scroller.scrollHeight;
      // What was there before is read at leisure.
      if (said !== "" && createdAt >= openedAt) announcer.textContent = said;
    },
    addSending(correlationId, text) {
      const note = make("span", { className: "note", textContent: "Sending" });
      const item = add(state, "mine", "You", make("p", { textContent: text }), note);
      state.sending.set(correlationId, { item, note });
      scroller.scrollTop = scroller.scrollHeight;
    },
    markSent(correlationId) {
      const found = state.sending.get(correlationId);
      if (found !== undefined) found.note.textContent = "Sent";
    },
    removeSending: (correlationId) => removeSending(state, correlationId),
  };
}

/** Shows a record, and gives what is to be said aloud of it: whole messages rather than pieces. */
function showRecord(state: State, record: ChatRecord, correlationId: string): string {
  switch (record.type) {
    case "message":
      return showMessage(state, record, correlationId);
    case "answer":
      return beginAnswer(state, correlationId);
    case "piece":
      state.open.get(correlationId)?.querySelector("p")?.append(record.text);
      return "";
    case "answered":
      return endAnswer(state, correlationId);
    case "stopped":
      endAnswer(state, correlationId);
      add(state, "turn", null, "Stopped");
      return "Stopped";
    case "approval":
      return showApproval(state, record);
    case "decision":
      state.approvals.get(record.tokenId)?.showOutcome(record.outcome);
      return "";
    case "failed":
      removeSending(state, correlationId);
      endAnswer(state, correlationId);
      add(state, "failed", null, record.reason);
      return record.reason;
  }
}

function add(state: State, className: string, speaker: string | null, ...content: (Node | string)[]) {
  const item = make("li", { className });
  if (speaker !== null) item.append(make("span", { className: "hidden", textContent: `${speaker}: ` }));
  item.append(...content);
  state.log.append(item);
  return item;
}

function removeSending(state: State, correlationId: string): void {
  state.sending.get(correlationId)?.item.remove();
  state.sending.delete(correlationId);
}

function showMessage(state: State, { text, turn }: Of<"message">, correlationId: string): string {
  removeSending(state, correlationId);
  if (turn !== state.turn) add(state, "turn", null, `Turn ${turn}: a new run has taken over`);
  state.turn = turn;
  add(state, "mine", "You", make("p", { textContent: text }));
  return "";
}

/** A new answer, or the one that was interrupted, from its beginning. */
function beginAnswer(state: State, correlationId: string): string {
  state.open.get(correlationId)?.remove();
  const item = add(state, "theirs", "Assistant", make("p"));
  item.ariaBusy = "true";
  state.open.set(correlationId, item);
  return "";
}

function endAnswer(state: State, correlationId: string): string {
  const item = state.open.get(correlationId);
  state.open.delete(correlationId);
  if (item === undefined) return "";
  item.ariaBusy = "false";
  const said = item.querySelector("p")?.textContent ?? "";
  if (said === "") item.remove();
  return said;
}

function showApproval(state: State, approval: Of<"approval">): string {
  const card = createApproval(approval, state.decide(approval), state.leave);
  state.approvals.set(approval.tokenId, card);
  state.log.append(card.item);
  return `Approval needed: ${approval.action}`;
}
