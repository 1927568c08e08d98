import type { Uuid } from "@keelson/contract";
import type { Clock } from "../../clock.ts";
import type { Database } from "../../db/pool.ts";
import { DomainError } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import type { DeploymentCache } from "../entrypoints/deployment-cache.ts";
import type { RunQuota } from "../quotas/run-quota.ts";
import { checkStartWorkspace } from "../workspaces/check-start-workspace.ts";
import type { NewRun } from "./new-run.ts";
import { idempotencyOf, resolveStart, type StartRequest } from "./resolve-start.ts";
import { findKeyedRuns } from "./run-writes.ts";
import { keyConflict, type RunStarter } from "./start-runs.ts";

export type StartTaskContext = {
  db: Database;
  deployments: DeploymentCache;
  runStarter: RunStarter;
  runQuota: RunQuota;
  newUuid: NewUuid;
  clock: Clock;
};

/** Each attempt reads the pointer again, so a second is needed only when promotions follow each other within it. */
const MAX_STALE_ATTEMPTS = 5;

/**
 * The run of an earlier start with the request's key. A repeat is answered as the first time even when the request could
 * not be accepted any more, because a deployment without the task or with another schema has come between.
 */
async function findFirstStart(
  db: Database,
  request: StartRequest,
  now: number,
): Promise<{ kind: "replayed"; runId: Uuid<"run"> } | null> {
  if (request.idempotencyKey === null) return null;
  const { scope, key, digest } = idempotencyOf(request, request.idempotencyKey, now);
  const [first] = await findKeyedRuns(db, [{ environmentId: request.environmentId, scope, key }]);
  if (first === undefined || first.expiresAt <= now) return null;
  if (!first.digest.equals(digest)) throw keyConflict(key);
  return { kind: "replayed", runId: first.runId };
}

/** Resolves and starts; a deployment that was promoted meanwhile is resolved again. */
export async function startTask(
  context: StartTaskContext,
  request: StartRequest,
): Promise<{ kind: "created"; run: NewRun } | { kind: "replayed"; runId: Uuid<"run"> }> {
  const sources = { deployments: context.deployments, admit: context.runQuota.begin };
  for (let attempt = 1; attempt <= MAX_STALE_ATTEMPTS; attempt += 1) {
    const now = context.clock();
    let run: NewRun;
    try {
      const { environmentId, body } = request;
      await checkStartWorkspace(context.db, environmentId, body.workspace_id, { kind: "keep" });
      run = await resolveStart(sources, request, context.newUuid, now);
    } catch (error) {
      const first = error instanceof DomainError ? await findFirstStart(context.db, request, now) : null;
      if (first === null) throw error;
      return first;
    }
    const outcome = await context.runStarter
      .start(run)
      .finally(() => context.runQuota.end(request.environmentId));
    if (outcome.kind === "created") return { kind: "created", run };
    if (outcome.kind === "replayed") return outcome;
    context.deployments.forget(request.environmentId);
  }
  throw new DomainError("unavailable", "The current deployment keeps changing; try the start again.");
}
