import type { Run, RunEvent, Session } from "@keelson/sdk";
import { paint, type Cli, type Style } from "./cli.ts";

type Cell = string | { text: string; style: Style };

const textOf = (cell: Cell): string => (typeof cell === "string" ? cell : cell.text);

/** Columns of equal width under a heading. */
export function printTable(cli: Cli, heading: readonly string[], rows: readonly (readonly Cell[])[]): void {
  const { stdout } = cli.host;
  const widths = heading.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => textOf(row[column] ?? "").length)),
  );
  const line = (cells: readonly Cell[], style: Style | null): string =>
    cells
      .map((cell, column) => {
        const text = textOf(cell);
        const padded = column === cells.length - 1 ? text : text.padEnd(widths[column] ?? 0);
        const own = style ?? (typeof cell === "string" ? null : cell.style);
        return own === null ? padded : paint(stdout, own, padded);
      })
      .join("  ")
      .trimEnd();
  cli.print(line(heading, "dim"));
  for (const row of rows) cli.print(line(row, null));
}

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
});

/** The line a person reads of a run: id, status, what it is, and why it failed. */
export function describeRun(run: Run): string {
  const attempt = run.attempt_number === null ? "" : `, attempt ${run.attempt_number} of ${run.max_attempts}`;
  const reason =
    run.failure !== null && run.status !== "succeeded"
      ? `: ${run.failure.message}`
      : run.status_reason
        ? `: ${run.status_reason.message}`
        : "";
  return `${run.id} ${run.status} (${run.task ?? run.actor}${attempt})${reason}`;
}

/** The line a person reads of a session. */
export const describeSession = (session: Session): string =>
  `${session.id} ${session.status} (${session.actor ?? session.task})${session.close_reason === null ? "" : `: ${session.close_reason}`}`;

export const describeEvent = (event: RunEvent): string =>
  `${event.at}  ${event.kind.padEnd(20)}  ${event.attempt_number === null ? "" : `#${event.attempt_number} `}${event.message}`;
