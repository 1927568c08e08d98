import { structuredPatch } from "diff";

export type DiffRow =
  | { kind: "hunk"; text: string }
  | { kind: "note"; text: string }
  | { kind: "same"; before: number; after: number; text: string }
  | { kind: "removed"; before: number; text: string }
  | { kind: "added"; after: number; text: string };

const CONTEXT_LINES = 3;
/** Two texts that have little in common may take forever; then both are shown beside their sizes alone. */
const MAX_MS = 1500;

/** What changed between two texts, line by line with some lines around; null when that took too long. */
export function lineDiff(before: string, after: string): DiffRow[] | null {
  const patch = structuredPatch("", "", before, after, "", "", { context: CONTEXT_LINES, timeout: MAX_MS });
  if (patch === undefined) return null;
  const rows: DiffRow[] = [];
  for (const { oldStart, oldLines, newStart, newLines, lines } of patch.hunks) {
    rows.push({ kind: "hunk", text: `@@ -${range(oldStart, oldLines)} +${range(newStart, newLines)} @@` });
    let old = oldStart;
    let young = newStart;
    for (const line of lines) {
      const text = line.slice(1);
      if (line.startsWith("+")) rows.push({ kind: "added", after: young++, text });
      else if (line.startsWith("-")) rows.push({ kind: "removed", before: old++, text });
      else if (line.startsWith("\\")) rows.push({ kind: "note", text: text.trim() });
      else rows.push({ kind: "same", before: old++, after: young++, text });
    }
  }
  return rows;
}

/** As `diff -u` has it: of no lines, the one before which there are none. */
const range = (start: number, lines: number): string => `${lines === 0 ? start - 1 : start},${lines}`;
