import { RUN_LIST_COLUMNS } from "@keelson/contract/plain";
import { readRunFilters, type RunFilters } from "./run-filters.ts";

/** Columns that a list of runs may have besides status and task, in their order. */
export const RUN_COLUMNS = RUN_LIST_COLUMNS;
export type RunColumn = (typeof RUN_COLUMNS)[number];

export const COLUMN_NAMES: Readonly<Record<RunColumn, string>> = {
  tags: "Tags",
  error: "Error",
  attempt: "Attempt",
  run: "Run",
  created: "Created",
  took: "Took",
};

export const DEFAULT_COLUMNS: readonly RunColumn[] = ["tags", "attempt", "run", "created", "took"];

/** What an address of the page says: which runs, and which columns of them. */
export type RunsSearch = RunFilters & { columns?: RunColumn[] };

export function readRunsSearch(search: Record<string, unknown>): RunsSearch {
  const { columns } = search;
  const filters = readRunFilters(search);
  if (!Array.isArray(columns)) return filters;
  return { ...filters, columns: RUN_COLUMNS.filter((column) => columns.includes(column)) };
}

/** How wide each is, by the width of the window: at first it is left out. */
const WIDTHS: Readonly<Record<RunColumn, { from: "always" | "sm" | "lg"; width: string }>> = {
  tags: { from: "sm", width: "minmax(0,1fr)" },
  error: { from: "sm", width: "minmax(0,1.5fr)" },
  attempt: { from: "lg", width: "4.5rem" },
  run: { from: "lg", width: "9rem" },
  created: { from: "sm", width: "6rem" },
  took: { from: "always", width: "5rem" },
};

export const isShownFrom = (column: RunColumn): "always" | "sm" | "lg" => WIDTHS[column].from;

/** The tracks of the grid at each width. */
export function gridTracks(
  columns: readonly RunColumn[],
): Record<"--cols" | "--cols-sm" | "--cols-lg", string> {
  const tracks = (task: string, ...from: string[]): string =>
    [
      "1rem",
      "8.5rem",
      task,
      ...columns.filter((one) => from.includes(WIDTHS[one].from)).map((one) => WIDTHS[one].width),
    ].join(" ");
  return {
    "--cols": tracks("minmax(0,1fr)", "always"),
    "--cols-sm": tracks("minmax(9rem,1.2fr)", "always", "sm"),
    "--cols-lg": tracks("minmax(9rem,1.2fr)", "always", "sm", "lg"),
  };
}
