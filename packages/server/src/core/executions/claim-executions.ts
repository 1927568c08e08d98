import type { Uuid } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { takeFairly } from "../../db/take-fairly.ts";
import type { LiveIds } from "../../live-ids.ts";
import type { NewUuid } from "../../uuid.ts";
import type { ClaimStarts } from "./claim-starts.ts";
import {
  claimAnywhere,
  claimAtEnd,
  claimIsolated,
  hasMore,
  SURPLUS,
  type Claim,
  type Walked,
} from "./claim-writes.ts";
import type { LeasedExecution } from "./execution.ts";
import { claimAtFronts, type FrontClaim } from "./front-claim-writes.ts";
import type { KnownReady, ReadyFronts } from "./ready-fronts.ts";
import type { KnownRun, RunKind } from "./known-runs.ts";
import { claimInKnownWorkspaces, claimInWorkspaces } from "./workspace-claim-writes.ts";

export type ClaimContext = {
  db: Queryable;
  newUuid: NewUuid;
  claimStarts: ClaimStarts;
  readyFronts: ReadyFronts;
  liveLeases: Pick<LiveIds, "of">;
};

export type ClaimRequest = Omit<Claim, "leaseIds"> & {
  /** Runs of its group may wait for a workspace, and the worker takes workspaces. */
  workspaceRunsWait: boolean;
  /** Runs of its group may wait for the namespace tier, and the worker has it. */
  isolatedRunsWait: boolean;
};

/** How many environments a claim looks into after the first ones had nothing for the worker. */
const MORE_ENVIRONMENTS = 64;
/** How many runs it would take of those that are known, after the first ones were not to be had. */
const MORE_RUNS = 64;

export type Claimed = {
  executions: LeasedExecution[];
  /** Nothing else was there for the worker, but what somebody held just then. */
  isAll: boolean;
};

/**
 * Claims up to `limit` runs. Where runs wait for a workspace or an isolation too, which kind is looked at first is drawn by
 * the claim's first lease id, so that no kind keeps another waiting.
 */
export async function claimExecutions(
  context: ClaimContext,
  { workspaceRunsWait, isolatedRunsWait, ...request }: ClaimRequest,
): Promise<Claimed> {
  const leaseIds = leaseIdsFor(context, request.limit);
  const ready = await context.readyFronts.of(request.workerGroupId);
  const ofKind = ready === null ? lookingClaims(context) : knownClaims(context, ready);
  const kinds = [
    ofKind.anywhere,
    ...(workspaceRunsWait ? [ofKind.inWorkspace] : []),
    ...(isolatedRunsWait ? [ofKind.isolated] : []),
  ];
  const first = Number.parseInt(leaseIds[0]?.slice(-6) ?? "0", 16) % kinds.length;
  const executions: LeasedExecution[] = [];
  let isAll = true;
  for (const claimKind of [...kinds.slice(first), ...kinds.slice(0, first)]) {
    const left = leaseIds.slice(executions.length);
    if (left.length === 0) break;
    const claimed = await claimKind({ ...request, limit: left.length, leaseIds: left });
    executions.push(...claimed.executions);
    isAll &&= claimed.isAll;
  }
  return { executions, isAll: isAll && executions.length < request.limit };
}

/** A claim for a worker whose poll is open, by someone else. */
type ReadyClaim = Pick<Claim, "workerId" | "workerGroupId" | "leaseRequestId" | "limit" | "now" | "meets">;

/**
 * Claims ready runs as the last thing of the transaction that makes some ready. Resolves when that is asked for. Those in workspaces,
 * isolated ones, and those of environments behind the first ones, wait for the worker's own claim.
 *
 * @returns what gives the claimed runs, once the transaction is durable
 */
export async function claimReady(
  tx: Tx,
  context: Pick<ClaimContext, "newUuid" | "claimStarts"> & { leaseDurationMs: number },
  { workerId, workerGroupId, leaseRequestId, limit, now, meets }: ReadyClaim,
): Promise<() => Promise<Claimed>> {
  const claim: Claim = {
    ...{ workerId, workerGroupId, leaseRequestId, limit, now, meets },
    leaseIds: leaseIdsFor(context, limit),
    leaseExpiresAt: now + context.leaseDurationMs,
    calledAt: null,
  };
  const place = placeOf("anywhere", claim);
  const start = context.claimStarts.of(place);
  const { walked } = await claimAtEnd(tx, claim, { start, from: null, limit });
  return async () => {
    const seen = await walked();
    const last = seen.executions.at(-1);
    if (last !== undefined) context.claimStarts.moveTo(place, last.environmentId);
    return { executions: seen.executions, isAll: !hasMore(seen, claim) };
  };
}

/** Where the walk of such claims goes on. */
const placeOf = (kind: RunKind, { workerGroupId }: Claim): string => `${kind} ${workerGroupId}`;

const leaseIdsFor = ({ newUuid }: Pick<ClaimContext, "newUuid">, limit: number): Uuid<"lease">[] =>
  Array.from({ length: limit }, (): Uuid<"lease"> => newUuid<"lease">());

type Claims = Record<RunKind, (claim: Claim) => Promise<Claimed>>;

/** Of a claim that does not say whether it saw all. */
const some = (executions: LeasedExecution[]): Claimed => ({ executions, isAll: false });

const lookingClaims = (context: ClaimContext): Claims => ({
  anywhere: (claim) => claimByTurns(context, "anywhere", claim),
  inWorkspace: async (claim) => some(await claimInWorkspaces(context.db, claim)),
  isolated: (claim) => claimByTurns(context, "isolated", claim),
});

/** The same, from known fronts and of known runs. */
const knownClaims = (context: ClaimContext, { fronts, runsOf }: KnownReady): Claims => ({
  anywhere: async (claim) =>
    some(await claimAtKnownFronts(context, "anywhere", { fronts, known: runsOf("anywhere") }, claim)),
  inWorkspace: async (claim) => {
    const known = takeOfEach(runsOf("inWorkspace"), claim.limit);
    if (known.length === 0) return some([]);
    const executions = await claimInKnownWorkspaces(
      context.db,
      claim,
      known,
      context.liveLeases.of(claim.workerId),
    );
    context.readyFronts.tried(claim.workerGroupId, known, new Set(executions.map(({ runId }) => runId)));
    return some(executions);
  },
  isolated: async (claim) =>
    some(await claimAtKnownFronts(context, "isolated", { fronts: [], known: runsOf("isolated") }, claim)),
});

/** The first runs of each workspace. */
function takeOfEach(runs: readonly KnownRun[], limit: number): KnownRun[] {
  const counts = new Map<string, number>();
  return runs.filter(({ workspaceId }) => {
    const place = workspaceId ?? "";
    const count = (counts.get(place) ?? 0) + 1;
    counts.set(place, count);
    return count <= limit;
  });
}

/**
 * Looks into as many environments as the claim can take runs from. Their runs may be for other workers, or another claim may be
 * taking them. A claim that took none continues with the next environments, until it has seen all of them.
 */
async function claimByTurns(
  { db, claimStarts }: Pick<ClaimContext, "db" | "claimStarts">,
  kind: keyof typeof STATEMENTS,
  claim: Claim,
): Promise<Claimed> {
  const place = placeOf(kind, claim);
  const start = claimStarts.of(place);
  let from: Uuid<"env"> | null = null;
  for (let limit = claim.limit; ; limit = Math.max(limit, MORE_ENVIRONMENTS)) {
    const walked: Walked = await STATEMENTS[kind](db, claim, { start, from, limit });
    const { executions, next } = walked;
    const last = executions.at(-1);
    if (last !== undefined) claimStarts.moveTo(place, last.environmentId);
    if (last !== undefined || next === null) return { executions, isAll: !hasMore(walked, claim) };
    from = next;
  }
}

const STATEMENTS = { anywhere: claimAnywhere, isolated: claimIsolated } as const;

/** The same, from known fronts and of runs that are known. */
async function claimAtKnownFronts(
  context: ClaimContext,
  kind: FrontClaim["kind"],
  { fronts, known }: Pick<FrontClaim, "fronts" | "known">,
  claim: Claim,
): Promise<LeasedExecution[]> {
  const { claimStarts } = context;
  const place = placeOf(kind, claim);
  const start = claimStarts.of(place);
  const environments = [...new Set([...fronts, ...known].map(({ environmentId }) => environmentId))].sort();
  const turns = [...environments.filter((id) => id > start), ...environments.filter((id) => id <= start)];
  for (
    let looked = 0, limit = claim.limit;
    looked < turns.length;
    limit = Math.max(limit, MORE_ENVIRONMENTS)
  ) {
    const places = turns.slice(looked, looked + limit);
    const isThere = ({ environmentId }: { environmentId: Uuid<"env"> }): boolean =>
      places.includes(environmentId);
    const there = { kind, fronts: fronts.filter(isThere), known: known.filter(isThere), places };
    const executions = await claimInPlaces(context, claim, there);
    const last = executions.at(-1);
    if (last !== undefined) {
      claimStarts.moveTo(place, last.environmentId);
      return executions;
    }
    looked += limit;
  }
  return [];
}

/** Of the runs that are known each environment gives as many. Others may have taken them, or they are not for this worker: then the next ones are tried. */
async function claimInPlaces(
  { db, readyFronts }: ClaimContext,
  claim: Claim,
  { kind, fronts, known, places }: FrontClaim,
): Promise<LeasedExecution[]> {
  let left: readonly KnownRun[] = known;
  for (let count = claim.limit; ; count = Math.max(count, MORE_RUNS)) {
    const next = takeFairly(left, count * SURPLUS, ({ environmentId }) => environmentId);
    const isFirst = left === known;
    const executions = await claimAtFronts(db, claim, {
      ...{ kind, fronts: isFirst ? fronts : [], known: next.taken, places },
    });
    readyFronts.tried(claim.workerGroupId, next.taken, new Set(executions.map(({ runId }) => runId)));
    left = next.left;
    if (executions.length > 0 || left.length === 0) return executions;
  }
}
