import { useMemo, useState, type ReactNode } from "react";
import { cx } from "../../ui/class-names.ts";
import { visibleLines } from "../../ui/visible-text.ts";

/** More than this is folded, and more than that is not laid out at all: the browser would stand still. */
const FOLDED_CHARACTERS = 4_000;
const MAX_CHARACTERS = 100_000;

export function Json({ data }: { data: unknown }): ReactNode {
  const text = useMemo(() => JSON.stringify(data, null, 2), [data]);
  return <Folded text={text} direction="ltr" className="font-mono text-xs whitespace-pre-wrap" />;
}

/** A text as it is, whatever it looks like, and as much of it as one can look at. */
export function Folded({
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
