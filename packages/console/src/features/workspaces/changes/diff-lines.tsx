import { useMemo, type ReactNode } from "react";
import { CodeLines, type CodeLine } from "../../../ui/code-lines.tsx";
import { LineText, MAX_LINE_CHARACTERS } from "../files/text-lines.tsx";
import { lineDiff, type DiffRow } from "./line-diff.ts";

const MARKS: Record<DiffRow["kind"], string> = { hunk: " ", note: " ", same: " ", removed: "-", added: "+" };
const CLASSES: Record<DiffRow["kind"], string> = {
  hunk: "bg-info-ground text-info",
  note: "text-quiet italic",
  same: "",
  removed: "bg-bad-ground text-bad",
  added: "bg-good-ground text-good",
};

/** The unified difference of two texts. */
export function DiffLines({
  label,
  before,
  after,
}: {
  label: string;
  before: string;
  after: string;
}): ReactNode {
  const rows = useMemo(() => lineDiff(before, after), [before, after]);
  if (rows === null)
    return (
      <p className="p-4 text-quiet">The versions differ too much to compare them here. Open each version.</p>
    );
  if (rows.length === 0) return <p className="p-4 text-quiet">The text is identical.</p>;
  const width = rows.reduce((most, { text }) => Math.max(most, text.length), 0);
  return (
    <CodeLines
      label={label}
      count={rows.length}
      width={Math.min(width, MAX_LINE_CHARACTERS + 40)}
      gutterClass="w-24"
      className="flex-1"
      renderLine={(index) => lineOf(rows[index])}
    />
  );
}

function lineOf(row: DiffRow | undefined): CodeLine {
  if (row === undefined) return { content: "", length: 0 };
  const before = "before" in row ? String(row.before) : "";
  const after = "after" in row ? String(row.after) : "";
  return {
    gutter: `${before.padStart(6)} ${after.padStart(6)}`,
    length: row.text.length + 2,
    className: CLASSES[row.kind],
    content: (
      <>
        {MARKS[row.kind]} <LineText text={row.text} tokens={null} />
      </>
    ),
  };
}
