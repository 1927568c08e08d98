import { isTerminalRunStatus, RUN_STATUSES, type RunStatus } from "@keelson/contract/plain";
import { toRunQuery, type RunFilters, type RunQuery } from "./run-filters.ts";

export type BulkKind = "cancel" | "replay";

/** What is meant when the filters name no status: runs that can be cancelled, and runs that went wrong. */
const BY_DEFAULT: Readonly<Record<BulkKind, readonly RunStatus[]>> = {
  cancel: RUN_STATUSES.filter((status) => !isTerminalRunStatus(status)),
  replay: RUN_STATUSES.filter((status) => isTerminalRunStatus(status) && status !== "succeeded"),
};

const fits = (kind: BulkKind, status: RunStatus): boolean =>
  isTerminalRunStatus(status) === (kind === "replay");

/** The runs of the filters that the action is for; null when the filters name only statuses that it is not for. */
export function bulkFilterOf(
  kind: BulkKind,
  filters: RunFilters,
  nowMs: number,
): (RunQuery & { status: RunStatus[] }) | null {
  const status = (filters.status ?? BY_DEFAULT[kind]).filter((one) => fits(kind, one));
  return status.length === 0 ? null : { ...toRunQuery(filters, nowMs), status };
}
