import { median } from "./harness/statistics.ts";
import type { GoalRow, Round } from "./goal-row.ts";

/** A row with its numbers: median, least and greatest over the rounds that have it. */
export type JudgedRow = {
  id: string;
  what: string;
  unit: string;
  figure: Spread | null;
  compared: (Spread & { label: string }) | null;
  goal: string | null;
  /** By the median; null where there is no goal or no figure. */
  isMet: boolean | null;
};
export type Spread = { median: number; min: number; max: number; runs: number };

export function judgeRow(row: GoalRow, rounds: readonly Round[]): JudgedRow {
  const figure = spread(rounds.map((round) => round[row.figure] ?? Number.NaN));
  const compared =
    row.compare === undefined ? null : spread(rounds.map((round) => row.compare?.of(round) ?? Number.NaN));
  const decisive = row.compare === undefined ? figure : compared;
  const label = row.compare?.label ?? row.unit;
  const { bound } = row;
  return {
    id: row.id,
    what: row.what,
    unit: row.unit,
    figure,
    compared: compared === null ? null : { ...compared, label },
    goal:
      bound === undefined
        ? null
        : "atLeast" in bound
          ? `≥ ${bound.atLeast} ${label}`
          : `≤ ${bound.atMost} ${label}`,
    isMet:
      bound === undefined || decisive === null
        ? null
        : "atLeast" in bound
          ? decisive.median >= bound.atLeast
          : decisive.median <= bound.atMost,
  };
}

function spread(values: readonly number[]): Spread | null {
  const known = values.filter((value) => Number.isFinite(value));
  if (known.length === 0) return null;
  return { median: median(known), min: Math.min(...known), max: Math.max(...known), runs: known.length };
}

/** Columns as wide as their widest cell. */
export function formatTable(rows: readonly JudgedRow[]): string {
  const cells = rows.map((row) => [
    row.id,
    row.what,
    row.figure === null ? "–" : formatSpread(row.figure, row.unit),
    row.compared === null ? "" : formatSpread(row.compared, row.compared.label),
    row.goal ?? "",
    row.isMet === null ? (row.goal === null ? "" : "not measured") : row.isMet ? "met" : "MISSED",
  ]);
  const widths = [0, 1, 2, 3, 4, 5].map((column) =>
    Math.max(...cells.map((row) => (row[column] as string).length)),
  );
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] as number))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function formatSpread({ median, min, max, runs }: Spread, unit: string): string {
  const range = runs > 1 ? ` (${formatNumber(min)}–${formatNumber(max)})` : "";
  return `${formatNumber(median)} ${unit}${range}`;
}

const formatNumber = (value: number): string =>
  Math.abs(value) >= 100
    ? Math.round(value).toLocaleString("en-US")
    : value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
