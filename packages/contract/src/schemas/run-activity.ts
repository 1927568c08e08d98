import { Type, type Static } from "typebox";
import { RUN_STATUSES } from "../runs.ts";
import { Id, Nullable, Timestamp } from "./primitives.ts";
import { StatusReason } from "./run.ts";

/** What an overview of an environment draws. */

export const ACTIVITY_MINUTES_DEFAULT = 60;
export const ACTIVITY_MINUTES_MAX = 180;
/** Queues are counted over this many live runs, the oldest: a backlog of millions is not read to be drawn. */
export const ACTIVITY_LIVE_RUNS = 10_000;
export const ACTIVITY_QUEUES = 100;
export const ACTIVITY_STUCK_RUNS = 10;

const Count = Type.Integer({ minimum: 0 });

export const RunActivityMinute = Type.Object(
  {
    at: Type.String({ ...Timestamp, description: "When the minute began." }),
    created: Count,
    succeeded: Count,
    failed: Count,
    cancelled: Count,
    expired: Count,
    system_failed: Count,
  },
  { $id: "RunActivityMinute" },
);
export type RunActivityMinute = Static<typeof RunActivityMinute>;

export const QueueActivity = Type.Object(
  {
    queue: Type.String(),
    queued: Type.Integer({ minimum: 0, description: "Runs that wait for a slot of the queue or a worker." }),
    delayed: Type.Integer({ minimum: 0, description: "Runs whose start or next attempt is due later." }),
    running: Type.Integer({ minimum: 0, description: "Runs that a worker has, those asked to cancel too." }),
    waiting: Type.Integer({ minimum: 0, description: "Waiting runs." }),
    oldest_queued_at: Nullable(
      Type.String({ ...Timestamp, description: "Since when the longest-queued run is." }),
    ),
    concurrency_limit: Nullable(Type.Integer()),
    concurrency_key_limit: Nullable(Type.Integer()),
  },
  { $id: "QueueActivity" },
);
export type QueueActivity = Static<typeof QueueActivity>;

export const WorkersActivity = Type.Object(
  {
    online: Type.Integer({ minimum: 0, description: "Workers that get work and were heard lately." }),
    draining: Count,
    lost: Type.Integer({ minimum: 0, description: "Workers that were not heard for 15 s and not drained." }),
    slots: Type.Integer({ minimum: 0, description: "Runs that those online can have at a time." }),
    free_slots: Count,
  },
  { $id: "WorkersActivity" },
);
export type WorkersActivity = Static<typeof WorkersActivity>;

export const StuckRun = Type.Object(
  {
    id: Id("run"),
    task: Nullable(Type.String()),
    actor: Nullable(Type.String()),
    status: Type.Enum([...RUN_STATUSES]),
    queue: Type.String(),
    queued_at: Type.String({ ...Timestamp, description: "Since when it waits." }),
    created_at: Timestamp,
    status_reason: StatusReason,
  },
  { $id: "StuckRun" },
);
export type StuckRun = Static<typeof StuckRun>;

export const RunActivity = Type.Object(
  {
    at: Timestamp,
    minutes: Type.Array(RunActivityMinute, {
      description: "Oldest first, one for each minute, the last one still under way.",
    }),
    queues: Type.Array(QueueActivity, {
      maxItems: ACTIVITY_QUEUES,
      description: "Those with live runs or a concurrency limit, the most queued first.",
    }),
    queues_complete: Type.Boolean({
      description: `False: there are more than ${ACTIVITY_LIVE_RUNS} live runs, and \`queues\` and \`stuck\` are of the oldest of them; or more than ${ACTIVITY_QUEUES} queues.`,
    }),
    workers: WorkersActivity,
    stuck: Type.Array(StuckRun, {
      maxItems: ACTIVITY_STUCK_RUNS,
      description: "Queued runs that could run if something were changed, the longest-waiting first.",
    }),
  },
  { $id: "RunActivity" },
);
export type RunActivity = Static<typeof RunActivity>;
