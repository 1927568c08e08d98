import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import type { NewUuid } from "../../uuid.ts";
import { claimAnywhere, claimIsolated, type Claim } from "./claim-writes.ts";
import type { LeasedExecution } from "./execution.ts";
import { claimInWorkspaces } from "./workspace-claim-writes.ts";

export type ClaimRequest = Omit<Claim, "leaseIds"> & {
  /** Runs of its group wait for a workspace, and the worker takes workspaces. */
  workspaceRunsWait: boolean;
  /** Runs of its group wait for the namespace tier, and the worker has it. */
  isolatedRunsWait: boolean;
};

/**
 * Claims up to `limit` runs. Where runs wait for a workspace or an isolation too, which kind is looked at first is drawn by
 * the claim's first lease id, so that no kind keeps another waiting.
 */
export async function claimExecutions(
  db: Queryable,
  newUuid: NewUuid,
  { workspaceRunsWait, isolatedRunsWait, ...request }: ClaimRequest,
): Promise<LeasedExecution[]> {
  const leaseIds = Array.from({ length: request.limit }, (): Uuid<"lease"> => newUuid<"lease">());
  const kinds = [
    claimAnywhere,
    ...(workspaceRunsWait ? [claimInWorkspaces] : []),
    ...(isolatedRunsWait ? [claimIsolated] : []),
  ];
  const first = Number.parseInt(leaseIds[0]?.slice(-6) ?? "0", 16) % kinds.length;
  const executions: LeasedExecution[] = [];
  for (const claimKind of [...kinds.slice(first), ...kinds.slice(0, first)]) {
    const left = leaseIds.slice(executions.length);
    if (left.length === 0) break;
    executions.push(...(await claimKind(db, { ...request, limit: left.length, leaseIds: left })));
  }
  return executions;
}
