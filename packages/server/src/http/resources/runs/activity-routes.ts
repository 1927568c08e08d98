import {
  ACTIVITY_LIVE_RUNS,
  ACTIVITY_MINUTES_DEFAULT,
  ACTIVITY_MINUTES_MAX,
  ACTIVITY_QUEUES,
  ACTIVITY_STUCK_RUNS,
  RunActivity,
  type StuckRun,
  type Uuid,
} from "@keelson/contract";
import { Type } from "typebox";
import { activityMinutes, MINUTE_MS, minuteOf } from "../../../core/runs/run-activity.ts";
import {
  readLiveActivity,
  readRunTotals,
  readWorkerLoad,
  type QueuedRun,
} from "../../../core/runs/run-activity-reads.ts";
import { listStatusFacts } from "../../../core/runs/status-reads.ts";
import { statusReason } from "../../../core/runs/status-reason.ts";
import type { ServerContext } from "../../../server-context.ts";
import { route, type EnvironmentScope, type RouteDefinition } from "../../edge/route.ts";
import { EXAMPLE_ACTIVITY } from "./activity-example.ts";
import { toActivityMinute, toQueueActivity, toStuckRun, toWorkersActivity } from "./activity-wire.ts";

// One more is read than is counted or shown, which tells whether that is all.
const LIVE = { maximum: ACTIVITY_LIVE_RUNS + 1, queues: ACTIVITY_QUEUES + 1, runs: ACTIVITY_STUCK_RUNS };

/** Of the longest-queued, those that are still queued, each with its reason. */
async function stuckRuns(
  { db }: ServerContext,
  environmentId: Uuid<"env">,
  queued: readonly QueuedRun[],
  now: number,
): Promise<StuckRun[]> {
  if (queued.length === 0) return [];
  const facts = await listStatusFacts(
    db,
    environmentId,
    queued.map(({ runId }) => runId),
    now,
  );
  return queued.flatMap((run) => {
    const found = facts.find(({ runId }) => runId === run.runId);
    const reason = found?.status === "queued" ? statusReason(found) : null;
    return reason === null ? [] : [toStuckRun(run, reason)];
  });
}

async function readActivity(
  server: ServerContext,
  { environmentId, workerGroupId }: EnvironmentScope,
  minutes: number,
): Promise<RunActivity> {
  const { db } = server;
  const now = server.clock();
  const since = minuteOf(now) - (minutes - 1) * MINUTE_MS;
  const [{ samples, totals }, live, workers] = await Promise.all([
    readRunTotals(db, environmentId, since),
    readLiveActivity(db, environmentId, LIVE),
    readWorkerLoad(db, workerGroupId, now),
  ]);
  return {
    at: new Date(now).toISOString(),
    minutes: activityMinutes(samples, totals, now, minutes).map(toActivityMinute),
    queues: live.queues.slice(0, ACTIVITY_QUEUES).map(toQueueActivity),
    queues_complete: live.liveRuns <= ACTIVITY_LIVE_RUNS && live.queues.length <= ACTIVITY_QUEUES,
    workers: toWorkersActivity(workers),
    stuck: await stuckRuns(server, environmentId, live.longestQueued, now),
  };
}

export const runActivityRoutes: RouteDefinition[] = [
  route({
    in: ["api"],
    method: "GET",
    path: "/runs/activity",
    name: "apiGetRunActivity",
    summary: "Present and recent activity of runs",
    description:
      "Runs by minute, queues, workers, and stuck runs, for an overview. The cost does not grow with history. Every run counts in one minute, which" +
      " may be the neighbouring one at the edge of a minute. The workers are those of the environment's group, which may also work for other " +
      "environments.",
    tag: "Runs",
    access: { kind: "environment", permission: "runs.read" },
    query: Type.Object(
      {
        minutes: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: ACTIVITY_MINUTES_MAX,
            description: `How many, up to now. Default ${ACTIVITY_MINUTES_DEFAULT}.`,
          }),
        ),
      },
      { additionalProperties: false },
    ),
    responses: { 200: { description: "The activity.", schema: RunActivity } },
    examples: { response: EXAMPLE_ACTIVITY },
    handle: async ({ server, scope, query }) => ({
      status: 200,
      body: await readActivity(server, scope, query.minutes ?? ACTIVITY_MINUTES_DEFAULT),
    }),
  }),
];
