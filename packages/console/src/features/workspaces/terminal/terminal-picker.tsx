import type { Pty } from "@keelson/contract";
import type { ReactNode } from "react";
import { buttonClass } from "../../../ui/button.tsx";
import { cx } from "../../../ui/class-names.ts";
import { inputClass } from "../../../ui/field.tsx";
import { absoluteTime } from "../../../ui/time.tsx";
import { visibleText } from "../../../ui/visible-text.ts";

/** Made later, numbered higher; the list has the newest first. */
const nameOf = (pty: Pty, index: number, count: number): string => {
  const [program] = pty.command;
  return `${program === undefined ? "Shell" : visibleText(program.slice(program.lastIndexOf("/") + 1))} ${count - index}`;
};

/** The terminals that are open, one beside the other, and those that have ended behind a list. */
export function TerminalPicker({
  ptys,
  shown,
  onPick,
}: {
  ptys: readonly Pty[];
  shown: string | undefined;
  onPick: (id: string) => void;
}): ReactNode {
  const named = ptys.map((pty, index) => ({ pty, name: nameOf(pty, index, ptys.length) }));
  const isOpen = ({ pty: { status } }: (typeof named)[number]): boolean =>
    status === "pending" || status === "running";
  const ended = named.filter((one) => !isOpen(one));
  const isEndedShown = ended.some(({ pty }) => pty.id === shown);
  return (
    <>
      <div role="group" aria-label="Open terminals" className="flex flex-wrap gap-1 empty:hidden">
        {named
          .filter(isOpen)
          .toReversed()
          .map(({ pty, name }) => (
            <button
              key={pty.id}
              type="button"
              aria-pressed={pty.id === shown}
              title={`${pty.id}, opened ${absoluteTime(pty.created_at)}`}
              onClick={() => onPick(pty.id)}
              className={cx(buttonClass(), "aria-pressed:border-accent aria-pressed:text-accent")}
            >
              {name}
            </button>
          ))}
      </div>
      {ended.length > 0 && (
        <select
          aria-label="Ended terminals"
          value={isEndedShown ? shown : ""}
          onChange={({ target }) => target.value !== "" && onPick(target.value)}
          className={cx(inputClass, "max-w-56")}
          style={{ width: "auto" }}
        >
          <option value="">Ended terminals</option>
          {ended.map(({ pty, name }) => (
            <option key={pty.id} value={pty.id}>
              {name}, {pty.status}, {absoluteTime(pty.created_at)}
            </option>
          ))}
        </select>
      )}
    </>
  );
}
