import { LIMITS, parseRunSearch } from "@keelson/contract/plain";
import { Search } from "lucide-react";
import { useId, useRef, useState, type ReactNode } from "react";
import { cx } from "../../ui/class-names.ts";
import { inputClass } from "../../ui/field.tsx";

const HINTS: readonly (readonly [term: string, meaning: string])[] = [
  ["timeout", "a word of the task, tags, payload, metadata or error"],
  ['"no answer"', "words in this order"],
  ["error:", "a word of the error"],
  ["payload:", "a word of the payload"],
  ["metadata.customer:", "a value in the metadata"],
  ["tag:", "a tag"],
  ["task:", "a task"],
  ["status:failed", "a status"],
  ["created:>2026-01-31", "when it was created"],
  ["run_", "an id, or how it begins"],
  ["-retry", "without this word"],
  ["cust*", "how a word begins"],
];

/** An id that is not of a run is a filter of its own. */
const ID_FILTERS = [
  ["sess_", "session_id"],
  ["sched_", "schedule_id"],
  ["err_", "error_group_id"],
] as const;
type IdFilter = (typeof ID_FILTERS)[number][1];

/** Takes a search at Enter, and says where it cannot be read. */
export function RunSearchBox({
  value,
  onChange,
  onFilter,
}: {
  value: string;
  onChange: (search: string) => void;
  onFilter: (name: IdFilter, id: string) => void;
}): ReactNode {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(value);
  const [isOpen, setIsOpen] = useState(false);
  const parsed = parseRunSearch(text);
  const mistake = "mistake" in parsed && text.trim() !== value ? parsed.mistake : null;
  const insert = (term: string): void => {
    setText(`${text.trimEnd()}${text.trim() === "" ? "" : " "}${term}`);
    input.current?.focus();
  };
  const submit = (): void => {
    const wanted = text.trim();
    const [, name] = ID_FILTERS.find(([prefix]) => wanted.startsWith(prefix)) ?? [];
    if (name !== undefined && !wanted.includes(" ")) {
      setText("");
      onFilter(name, wanted);
    } else if (wanted === "" || "search" in parsed) onChange(wanted);
    else return;
    setIsOpen(false);
  };
  return (
    <form
      role="search"
      className="relative w-[22rem] max-w-full"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <Search size={14} aria-hidden className="absolute top-1/2 left-2.5 -translate-y-1/2 text-quiet" />
      <input
        ref={input}
        type="search"
        aria-label="Search runs"
        aria-invalid={mistake !== null}
        aria-describedby={mistake === null ? undefined : `${id}-mistake`}
        placeholder="Search words, or error:timeout"
        className={cx(inputClass, "pl-8")}
        maxLength={LIMITS.runSearchCharacters}
        value={text}
        onFocus={() => setIsOpen(true)}
        // The hints keep the focus here when they are pressed.
        onBlur={() => setIsOpen(false)}
        onClick={() => setIsOpen(true)}
        onKeyDown={({ key }) => {
          if (key === "Escape") setIsOpen(false);
        }}
        onChange={({ target }) => {
          setText(target.value);
          setIsOpen(true);
        }}
      />
      {isOpen && <Hints mistakeId={`${id}-mistake`} mistake={mistake?.message ?? null} onChoose={insert} />}
    </form>
  );
}

function Hints({
  mistakeId,
  mistake,
  onChoose,
}: {
  mistakeId: string;
  mistake: string | null;
  onChoose: (term: string) => void;
}): ReactNode {
  return (
    <div className="absolute top-full left-0 z-20 mt-1 flex w-[30rem] max-w-[92vw] flex-col gap-2 rounded-lg border border-line bg-surface p-2 shadow-lg">
      {mistake !== null && (
        <p id={mistakeId} role="alert" className="px-1 text-bad">
          {`${mistake.charAt(0).toUpperCase()}${mistake.slice(1)}.`}
        </p>
      )}
      <ul aria-label="What a search takes" className="flex max-h-72 flex-col overflow-y-auto">
        {HINTS.map(([term, meaning]) => (
          <li key={term}>
            <button
              type="button"
              tabIndex={-1}
              className="flex w-full items-baseline gap-3 rounded px-1.5 py-1 text-left hover:bg-raised"
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => onChoose(term)}
            >
              <code className="w-44 shrink-0 font-mono text-xs">{term}</code>
              <span className="text-quiet">{meaning}</span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
