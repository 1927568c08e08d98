import { useMemo, useState, type ReactNode } from "react";
import { cx } from "../../ui/class-names.ts";
import { visibleLines, visibleText } from "../../ui/visible-text.ts";
import type { Row } from "./join-records.ts";

/** More than this is folded, and more than that is not laid out at all: the browser would stand still. */
const FOLDED_CHARACTERS = 4_000;
const MAX_CHARACTERS = 100_000;
/** JSON up to this is one line. */
const LINE_CHARACTERS = 80;

/** The words of a row, or its JSON. Everything in it is text, whatever it looks like. */
export function MessageBody({ row }: { row: Row }): ReactNode {
  const { text, rest, others, first } = row;
  const fields = Object.entries(rest);
  if (text !== null)
    return (
      <>
        <Folded text={text} direction="auto" className="whitespace-pre-wrap" />
        {fields.length > 0 && (
          <p className="mt-0.5 flex flex-wrap gap-x-3 text-xs text-quiet">
            {fields.map(([name, value]) => (
              <bdi key={name} className="break-all">
                {visibleText(name)}: {visibleText(String(value))}
              </bdi>
            ))}
          </p>
        )}
        {others.length > 0 && <OtherPieces others={others} />}
      </>
    );
  return <Json data={others.length > 1 ? others : first.data} />;
}

/** What a message holds beside its words, such as calls of tools. */
const OtherPieces = ({ others }: { others: readonly unknown[] }): ReactNode => (
  <details className="mt-0.5 text-xs text-quiet">
    <summary className="cursor-pointer">
      {others.length === 1 ? "1 other piece" : `${others.length.toLocaleString()} other pieces`}
    </summary>
    <Json data={others} />
  </details>
);

/** JSON that is short enough to stand in one line, and carries no words. */
export function briefJson({ text, others, first }: Row): string | null {
  if (text !== null || others.length > 1) return null;
  const line = JSON.stringify(first.data);
  return line.length <= LINE_CHARACTERS ? visibleText(line) : null;
}

function Json({ data }: { data: unknown }): ReactNode {
  const text = useMemo(() => JSON.stringify(data, null, 2), [data]);
  return <Folded text={text} direction="ltr" className="font-mono text-xs whitespace-pre-wrap" />;
}

function Folded({
  text,
  direction,
  className,
}: {
  text: string;
  direction: "auto" | "ltr";
  className: string;
}): ReactNode {
  const [isOpen, setIsOpen] = useState(false);
  const limit = isOpen ? MAX_CHARACTERS : FOLDED_CHARACTERS;
  const isCut = text.length > limit;
  return (
    <>
      <div dir={direction} className={cx("break-words [overflow-wrap:anywhere]", className)}>
        {visibleLines(isCut ? text.slice(0, limit) : text)}
        {text === "" && <span className="text-quiet">(empty)</span>}
      </div>
      {text.length > FOLDED_CHARACTERS && (
        <button
          type="button"
          className="mt-1 text-xs text-accent hover:underline"
          onClick={() => setIsOpen(!isOpen)}
        >
          {isOpen
            ? `Show less${isCut ? ` (the first ${limit.toLocaleString()} of ${text.length.toLocaleString()} characters)` : ""}`
            : `Show all ${text.length.toLocaleString()} characters`}
        </button>
      )}
    </>
  );
}
