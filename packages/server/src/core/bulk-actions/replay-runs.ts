import { encodeId, type StartTask, type Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import type { DeploymentCache } from "../entrypoints/deployment-cache.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import type { RunQuota } from "../quotas/run-quota.ts";
import type { NewRun } from "../runs/new-run.ts";
import { resolveStart } from "../runs/resolve-start.ts";
import { listCreatedRuns, type RunRow } from "../runs/run-reads.ts";
import { startRunsWithin } from "../runs/start-runs-within.ts";
import { checkStartWorkspace } from "../workspaces/check-start-workspace.ts";
import { noteStartUses } from "../workspaces/note-start-uses.ts";
import { decideReplay, replayTime, type BulkAction, type BulkItem } from "./bulk-action.ts";

export type ReplayContext = {
  deployments: DeploymentCache;
  runQuota: RunQuota;
  newUuid: NewUuid;
  /** What starts a run like this one again. */
  replayBody: (run: RunRow, deploymentVersion: string | null) => StartTask;
};

/** The server has no room for more runs now, or the deployment changed just then: the rest is for a later batch. */
export const isLater = (error: unknown): boolean =>
  error instanceof DomainError && (error.code === "rate_limited" || error.code === "unavailable");

type Step = { item: BulkItem; run: NewRun | null };

/**
 * Starts runs again, as far as there is room for more live runs. @returns what was done with each of the first ones.
 *
 * @throws DomainError `unavailable` when another deployment became the current one meanwhile.
 */
export async function replayRuns(
  tx: Tx,
  context: ReplayContext,
  action: BulkAction,
  runIds: readonly Uuid<"run">[],
  now: number,
): Promise<BulkItem[]> {
  const rows = await listCreatedRuns(tx, action.environmentId, runIds);
  const byId = new Map(rows.map((row) => [row.id, row]));
  const workspaceIds = rows.flatMap(({ workspaceId }) => (workspaceId === null ? [] : [workspaceId]));
  await noteStartUses(tx, action.environmentId, workspaceIds, now);
  const steps: Step[] = [];
  try {
    for (const runId of runIds)
      steps.push(await stepOf(tx, context, action, { runId, row: byId.get(runId) }, now));
  } catch (error) {
    if (!isLater(error)) throw error;
  }
  const runs = steps.flatMap(({ run }) => (run === null ? [] : [run]));
  const inserted = await startRunsWithin(tx, runs);
  if (inserted.size < runs.length)
    throw new DomainError("unavailable", "The current deployment was changed just now.");
  for (const { workerGroupId } of runs) tx.wake(wakeKeys.work(workerGroupId));
  return steps.map(({ item }) => item);
}

const failed = (runId: Uuid<"run">, code: string, message: string): Step => ({
  // PostgreSQL's text has no NUL, and a payload's schema may name anything.
  item: { runId, outcome: "failed", code, message: message.slice(0, 2_000).replaceAll("\0", "\ufffd") },
  run: null,
});

async function stepOf(
  tx: Tx,
  context: ReplayContext,
  action: BulkAction,
  { runId, row }: { runId: Uuid<"run">; row: RunRow | undefined },
  now: number,
): Promise<Step> {
  if (row === undefined) return failed(runId, "not_found", "There is no such run in this environment.");
  const decision = decideReplay(row);
  if (decision.kind === "skip") return { item: { runId, outcome: "not_ended" }, run: null };
  if (decision.kind === "refuse") return failed(runId, "invalid_state", decision.message);
  const { environmentId, projectId, entrypoint } = row;
  const workspaceText = row.workspaceId === null ? undefined : encodeId("ws", row.workspaceId);
  const body = context.replayBody(row, action.deploymentVersion);
  const sources = { deployments: context.deployments.within(tx), admit: context.runQuota.within(tx) };
  const request = {
    ...{ environmentId, projectId, kind: "task" as const, entrypoint, body },
    ...{ idempotencyKey: null, clientVersion: null, cliVersion: null, sdkVersion: null },
  } as const;
  try {
    await checkStartWorkspace(tx, environmentId, workspaceText, { kind: "checked" });
    const run = await resolveStart(sources, request, context.newUuid, replayTime(now, action.createdAt));
    return { item: { runId, outcome: "replayed", newRunId: run.id }, run };
  } catch (error) {
    if (!(error instanceof DomainError) || isLater(error)) throw error;
    return failed(runId, error.code, error.message);
  }
}
