/** A body that the document shows; a test checks it against the schema. */
export const EXAMPLE_ACTIVITY = {
  at: "2026-11-20T09:15:12.345Z",
  minutes: [
    {
      at: "2026-11-20T09:14:00.000Z",
      created: 312,
      succeeded: 298,
      failed: 2,
      cancelled: 1,
      expired: 0,
      system_failed: 0,
    },
    {
      at: "2026-11-20T09:15:00.000Z",
      created: 64,
      succeeded: 66,
      failed: 0,
      cancelled: 0,
      expired: 0,
      system_failed: 0,
    },
  ],
  queues: [
    {
      queue: "reports",
      queued: 12,
      delayed: 0,
      running: 4,
      waiting: 1,
      oldest_queued_at: "2026-11-20T09:13:40.002Z",
      concurrency_limit: 4,
      concurrency_key_limit: 1,
    },
  ],
  queues_complete: true,
  workers: { online: 2, draining: 0, lost: 0, slots: 20, free_slots: 16 },
  stuck: [
    {
      id: "run_01kahvq3rtexwt6a4e3p9c0z5h",
      task: "send-report",
      actor: null,
      status: "queued",
      queue: "reports",
      queued_at: "2026-11-20T09:13:40.002Z",
      created_at: "2026-11-20T09:13:40.002Z",
      status_reason: {
        kind: "queue_limit",
        message: "The queue's concurrency limit is reached.",
        details: { queue: "reports", limit: 4 },
      },
    },
  ],
};
