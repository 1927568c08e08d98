import { useMemo, type ReactNode } from "react";
import { CopyButton } from "./copy-button.tsx";
import { visibleLines } from "./visible-text.ts";

/** More text than this is not laid out: the browser would stand still. The copy is whole. */
const MAX_SHOWN_CHARACTERS = 100_000;

/** JSON as text. It is data of users: shown, never interpreted. */
export function JsonView({ value, label }: { value: unknown; label: string }): ReactNode {
  const text = useMemo(() => JSON.stringify(value, null, 2) ?? "", [value]);
  const isCut = text.length > MAX_SHOWN_CHARACTERS;
  return (
    <div className="relative rounded-md border border-line bg-raised">
      <div className="absolute top-1 right-1">
        <CopyButton text={text} label={`Copy ${label}`} />
      </div>
      <pre
        tabIndex={0}
        role="region"
        aria-label={label}
        className="max-h-96 overflow-auto p-3 pr-10 font-mono text-xs break-words whitespace-pre-wrap"
      >
        {visibleLines(isCut ? text.slice(0, MAX_SHOWN_CHARACTERS) : text)}
      </pre>
      {isCut && (
        <p className="border-t border-line px-3 py-1 text-xs text-quiet">
          {text.length.toLocaleString()} characters, the first {MAX_SHOWN_CHARACTERS.toLocaleString()} shown.
        </p>
      )}
    </div>
  );
}
