import type { StartTask } from "@keelson/contract";
import type { Clock } from "../../clock.ts";
import type { Tx } from "../../db/queryable.ts";
import { DomainError } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import type { DeploymentCache } from "../entrypoints/deployment-cache.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import type { RunQuota } from "../quotas/run-quota.ts";
import type { NewRun } from "../runs/new-run.ts";
import { resolveStart } from "../runs/resolve-start.ts";
import { insertRun } from "../runs/insert-run.ts";
import type { StoredSession } from "./session-reads.ts";
import { markTurn } from "./session-writes.ts";

export type TurnContext = {
  deployments: DeploymentCache;
  runQuota: RunQuota;
  newUuid: NewUuid;
  clock: Clock;
};

/** The fields of a session's start that hold for each of its turns. */
export type StartOptions = Pick<
  StartTask,
  "deployment_version" | "queue" | "concurrency_key" | "priority" | "ttl" | "max_duration" | "retry"
>;

/** Each attempt reads the pointer again, so a second is needed only when promotions follow each other within it. */
const MAX_STALE_ATTEMPTS = 5;

/**
 * Starts the next run of a session whose newest has ended, of the environment's current deployment. The session and its
 * input streams are locked by the caller, which also says with `markTurnBegun` where the turn begins in them.
 *
 * The deployment is read in this transaction, so no other connection is waited for while it is open.
 *
 * @throws DomainError when it cannot be started: `not_found` for an entrypoint that is no longer declared,
 * `rate_limited` when the environment has as many live runs as it may.
 */
export async function startTurn(
  tx: Tx,
  context: TurnContext,
  session: StoredSession,
  now: number,
): Promise<void> {
  const run = await insertTurn(tx, context, session, now);
  const { id: runId, whileBusy } = run;
  await markTurn(tx, session, { runId, turn: session.turn + 1, whileBusy }, now);
  tx.wake(wakeKeys.work(run.workerGroupId));
}

async function insertTurn(
  tx: Tx,
  context: TurnContext,
  session: StoredSession,
  now: number,
): Promise<NewRun> {
  const { id: sessionId, environmentId, projectId, workspaceId } = session;
  const sources = { deployments: context.deployments.within(tx), admit: context.runQuota.within(tx) };
  const request = {
    projectId,
    environmentId,
    kind: session.entrypointKind,
    entrypoint: session.entrypoint,
    body: { ...(JSON.parse(session.startOptions) as StartOptions), tags: session.tags ?? [] },
    links: { sessionId, turn: session.turn + 1, workspaceId, scheduleId: null, parentRunId: null },
    idempotencyKey: null,
    clientVersion: null,
    cliVersion: null,
    sdkVersion: null,
  };
  for (let attempt = 1; attempt <= MAX_STALE_ATTEMPTS; attempt += 1) {
    const run = await resolveStart(sources, request, context.newUuid, now);
    if (await insertRun(tx, run)) return run;
  }
  throw new DomainError("unavailable", "The current deployment keeps changing; try again.");
}
