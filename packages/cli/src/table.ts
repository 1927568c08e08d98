import type { Run, RunCall, RunEvent, Session } from "@keelson/sdk";
import { paint, type Cli, type Style } from "./cli.ts";
import { visibleLine } from "./terminal/visible.ts";

/** `keep` is never cut: who sees a row copies it. */
type Cell = string | { text: string; style?: Style; keep?: boolean };

const textOf = (cell: Cell): string => visibleLine(typeof cell === "string" ? cell : cell.text);

/** Columns between two cells. */
const GAP = 2;
/** No column is cut below this. */
const NARROWEST = 8;

const cut = (text: string, width: number): string =>
  text.length <= width ? text : `${text.slice(0, Math.max(1, width - 1))}…`;

/** Makes the widest columns that may be cut narrower, until the table fits. Without a terminal nothing is cut. */
function fit(widths: readonly number[], isKept: readonly boolean[], available: number | null): number[] {
  const fitted = [...widths];
  if (available === null) return fitted;
  const total = (): number => fitted.reduce((sum, width) => sum + width, GAP * (fitted.length - 1));
  for (let excess = total() - available; excess > 0; excess -= 1) {
    const candidates = fitted.map((width, i) => (isKept[i] === true || width <= NARROWEST ? 0 : width));
    const widest = candidates.indexOf(Math.max(...candidates));
    if (candidates[widest] === 0) break;
    fitted[widest] = (fitted[widest] ?? 0) - 1;
  }
  return fitted;
}

/** Columns under a heading, fitted to the terminal. The first column is never cut: it has the name to copy. */
export function printTable(cli: Cli, heading: readonly string[], rows: readonly (readonly Cell[])[]): void {
  const { stdout } = cli.host;
  const longest = heading.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => textOf(row[column] ?? "").length)),
  );
  const isKept = heading.map((_, column) =>
    column === 0 ? true : rows.some((row) => (row[column] as { keep?: boolean } | undefined)?.keep === true),
  );
  const widths = fit(longest, isKept, stdout.isTTY ? stdout.columns || 80 : null);
  const line = (cells: readonly Cell[], style: Style | null): string =>
    cells
      .map((cell, column) => {
        const text = cut(textOf(cell), widths[column] ?? 0);
        const padded = column === cells.length - 1 ? text : text.padEnd(widths[column] ?? 0);
        const own = style ?? (typeof cell === "string" ? null : (cell.style ?? null));
        return own === null ? padded : paint(stdout, own, padded);
      })
      .join(" ".repeat(GAP))
      .trimEnd();
  cli.print(line(heading, "dim"));
  for (const row of rows) cli.print(line(row, null));
}

const UNITS = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
] as const;

/** How long ago, or in how long: `3m ago`, `in 2h`. */
export function relativeTime(at: string, now: number): string {
  const seconds = Math.round((Date.parse(at) - now) / 1_000);
  const size = Math.abs(seconds);
  const [unit, length] = UNITS.find(([, least]) => size >= least) ?? ["s", 1];
  const text = `${Math.floor(size / length)}${unit}`;
  return seconds > 0 ? `in ${text}` : `${text} ago`;
}

/** A time for a person at a terminal; elsewhere, such as in a log, as the wire has it. */
export const timeCell = (cli: Cli, at: string | null, absent = ""): Cell =>
  at === null ? absent : { text: cli.host.stdout.isTTY ? relativeTime(at, Date.now()) : at, keep: true };

/** Names and values, one a line. */
export function printFields(cli: Cli, fields: Readonly<Record<string, unknown>>): void {
  const shown = Object.entries(fields).filter(
    ([, value]) => value !== null && value !== undefined && value !== "",
  );
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  for (const [name, value] of shown) {
    cli.print(
      `${paint(cli.host.stdout, "dim", name.padEnd(width))}  ${typeof value === "string" ? value : JSON.stringify(value)}`,
    );
  }
}

export const STATUS_STYLES: Readonly<Record<string, Style>> = {
  succeeded: "green",
  ready: "green",
  active: "green",
  fired: "green",
  errored: "red",
  inactive: "yellow",
  revoked: "yellow",
  skipped: "yellow",
  failed: "red",
  system_failed: "red",
  completed: "green",
  running: "blue",
  open: "blue",
  pending: "blue",
  cancelled: "yellow",
  expired: "yellow",
  cancel_requested: "yellow",
};

export const statusCell = (status: string): Cell => ({
  text: status,
  style: STATUS_STYLES[status] ?? "reset",
  keep: true,
});

/** The line a person reads of a run: id, status, what it is, and why it failed. */
export function describeRun(run: Run): string {
  const attempt = run.attemptNumber === null ? "" : `, attempt ${run.attemptNumber} of ${run.maxAttempts}`;
  const reason =
    run.failure !== null && run.status !== "succeeded"
      ? `: ${run.failure.message}`
      : run.statusReason
        ? `: ${run.statusReason.message}`
        : "";
  return `${run.id} ${run.status} (${run.task ?? run.actor}${attempt})${reason}`;
}

/** The line a person reads of a session. */
export const describeSession = (session: Session): string =>
  `${session.id} ${session.status} (${session.actor ?? session.task})${session.closeReason === null ? "" : `: ${session.closeReason}`}`;

export const describeEvent = (event: RunEvent): string =>
  `${event.at}  ${event.kind.padEnd(20)}  ${event.attemptNumber === null ? "" : `#${event.attemptNumber} `}${event.message}`;

const MAX_CALL_VALUE_CHARACTERS = 200;

/** A line: `--json` has the whole value. */
export function describeCall({ at, position, kind, name, value, error, wait }: RunCall): string {
  const what = wait === null ? kind : `wait: ${wait.kind}`;
  const given = wait?.status === "timed_out" ? "timed out" : JSON.stringify(value);
  const [line = ""] = (error === null ? given : `${error.name}: ${error.message}`).split("\n");
  const shown =
    line.length > MAX_CALL_VALUE_CHARACTERS ? `${line.slice(0, MAX_CALL_VALUE_CHARACTERS)}…` : line;
  return `${at}  ${String(position).padStart(4)}  ${what.padEnd(11)}  ${name}  ${shown}`;
}
