import { nameOfPart } from "../plan-parts.ts";
import type { Report } from "../report.ts";
import type { Area } from "./draw-weeks.ts";
import { countText, cutText, shortText } from "./numbers.ts";
import { element, group, textAt, tooltip } from "./xml.ts";

type Directory = Report["directories"][number];
export type Row = { name: string; lines: number; detail: string; failed: boolean };

const MAX_ROWS = 16;
const ROW_HEIGHT = 24;
const NAME_WIDTH = 176;
const NAME_CHARACTERS = 27;
const VALUE_WIDTH = 64;

/** The failed directories, then the longest ones, and one row for all that have no row of their own. */
export function toRows(directories: readonly Directory[]): Row[] {
  const rows = directories.map((directory): Row => {
    const name = nameOfPart(directory);
    if (directory.status === "failed") {
      return { name, lines: 0, detail: `${name}: ${directory.reason}`, failed: true };
    }
    const { lines, files } = directory;
    return {
      name,
      lines,
      detail: `${name}: ${countText(lines, "line")} in ${countText(files, "file")}`,
      failed: false,
    };
  });
  rows.sort((a, b) => Number(b.failed) - Number(a.failed) || b.lines - a.lines || (a.name < b.name ? -1 : 1));
  if (rows.length <= MAX_ROWS) return rows;
  const rest = rows.slice(MAX_ROWS - 1);
  const lines = rest.reduce((sum, row) => sum + row.lines, 0);
  const name = `${rest.length} more`;
  const failed = rest.filter((row) => row.failed).length;
  const detail = `${name}: ${countText(lines, "line")}${failed === 0 ? "" : `; ${failed} of them could not be read`}`;
  return [...rows.slice(0, MAX_ROWS - 1), { name, lines, detail, failed: false }];
}

export const heightOfRows = (rows: number): number => Math.max(1, rows) * ROW_HEIGHT;

/** Horizontal bars of lines; a directory that could not be read has a dashed frame instead of a bar. */
export function drawDirectories(rows: readonly Row[], { x, y, width }: Omit<Area, "height">): string {
  if (rows.length === 0) return textAt(x, y + 16, "There are no files.", { class: "quiet" });
  const longest = Math.max(1, ...rows.map(({ lines }) => lines));
  const left = x + NAME_WIDTH;
  const room = width - NAME_WIDTH - VALUE_WIDTH;
  return group(
    {},
    rows.map(({ name, lines, detail, failed }, i) => {
      const top = y + i * ROW_HEIGHT;
      const length = Math.max(lines === 0 ? 0 : 2, (lines / longest) * room);
      const label = textAt(left - 10, top + 15, cutText(name, NAME_CHARACTERS), { "text-anchor": "end" });
      const bar = failed
        ? element("rect", {
            x: left + 0.5,
            y: top + 4.5,
            width: room - 1,
            height: 15,
            rx: 2,
            class: "missing",
          })
        : element("rect", { x: left, y: top + 4, width: length, height: 16, rx: 2, class: "bar" });
      const value = failed
        ? textAt(left + 8, top + 16, "could not be read", { class: "bad small" })
        : textAt(left + length + 7, top + 16, shortText(lines), { class: "quiet small" });
      return group({}, [tooltip(detail), label, bar, value]);
    }),
  );
}
