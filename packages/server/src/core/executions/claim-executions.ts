import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import type { NewUuid } from "../../uuid.ts";
import type { ClaimStarts } from "./claim-starts.ts";
import { claimAnywhere, claimIsolated, type Claim, type Walked } from "./claim-writes.ts";
import type { LeasedExecution } from "./execution.ts";
import { claimAtFronts, type ReadyFront } from "./front-claim-writes.ts";
import type { ReadyFronts } from "./ready-fronts.ts";
import { claimInWorkspaces } from "./workspace-claim-writes.ts";

export type ClaimContext = {
  db: Queryable;
  newUuid: NewUuid;
  claimStarts: ClaimStarts;
  readyFronts: ReadyFronts;
};

export type ClaimRequest = Omit<Claim, "leaseIds"> & {
  /** Runs of its group wait for a workspace, and the worker takes workspaces. */
  workspaceRunsWait: boolean;
  /** Runs of its group wait for the namespace tier, and the worker has it. */
  isolatedRunsWait: boolean;
};

/** How many environments a claim looks into after the first ones had nothing for the worker. */
const MORE_ENVIRONMENTS = 64;

/**
 * Claims up to `limit` runs. Where runs wait for a workspace or an isolation too, which kind is looked at first is drawn by
 * the claim's first lease id, so that no kind keeps another waiting.
 */
export async function claimExecutions(
  context: ClaimContext,
  { workspaceRunsWait, isolatedRunsWait, ...request }: ClaimRequest,
): Promise<LeasedExecution[]> {
  const { db, newUuid } = context;
  const leaseIds = Array.from({ length: request.limit }, (): Uuid<"lease"> => newUuid<"lease">());
  const fronts = await context.readyFronts.of(request.workerGroupId);
  const kinds = [
    (claim: Claim) =>
      fronts === null ? claimByTurns(context, "anywhere", claim) : claimAtKnownFronts(context, fronts, claim),
    ...(workspaceRunsWait ? [(claim: Claim) => claimInWorkspaces(db, claim)] : []),
    ...(isolatedRunsWait ? [(claim: Claim) => claimByTurns(context, "isolated", claim)] : []),
  ];
  const first = Number.parseInt(leaseIds[0]?.slice(-6) ?? "0", 16) % kinds.length;
  const executions: LeasedExecution[] = [];
  for (const claimKind of [...kinds.slice(first), ...kinds.slice(0, first)]) {
    const left = leaseIds.slice(executions.length);
    if (left.length === 0) break;
    executions.push(...(await claimKind({ ...request, limit: left.length, leaseIds: left })));
  }
  return executions;
}

/**
 * Looks into as many environments as the claim can take runs from. Their runs may be for other workers, or another claim may be
 * taking them. A claim that took none continues with the next environments, until it has seen all of them.
 */
async function claimByTurns(
  { db, claimStarts }: ClaimContext,
  kind: keyof typeof STATEMENTS,
  claim: Claim,
): Promise<LeasedExecution[]> {
  const place = `${kind} ${claim.workerGroupId}`;
  const start = claimStarts.of(place);
  let from: Uuid<"env"> | null = null;
  for (let limit = claim.limit; ; limit = Math.max(limit, MORE_ENVIRONMENTS)) {
    const { executions, next }: Walked = await STATEMENTS[kind](db, claim, { start, from, limit });
    const last = executions.at(-1);
    if (last !== undefined) claimStarts.moveTo(place, last.environmentId);
    if (last !== undefined || next === null) return executions;
    from = next;
  }
}

const STATEMENTS = { anywhere: claimAnywhere, isolated: claimIsolated } as const;

/** The same, from known fronts. */
async function claimAtKnownFronts(
  { db, claimStarts }: ClaimContext,
  fronts: readonly ReadyFront[],
  claim: Claim,
): Promise<LeasedExecution[]> {
  const place = `anywhere ${claim.workerGroupId}`;
  const start = claimStarts.of(place);
  const byEnvironment = Map.groupBy(
    [
      ...fronts.filter((front) => front.environmentId > start),
      ...fronts.filter((front) => front.environmentId <= start),
    ],
    (front) => front.environmentId,
  );
  const turns = [...byEnvironment.values()];
  for (
    let looked = 0, limit = claim.limit;
    looked < turns.length;
    limit = Math.max(limit, MORE_ENVIRONMENTS)
  ) {
    const executions = await claimAtFronts(db, claim, turns.slice(looked, looked + limit).flat());
    const last = executions.at(-1);
    if (last !== undefined) {
      claimStarts.moveTo(place, last.environmentId);
      return executions;
    }
    looked += limit;
  }
  return [];
}
