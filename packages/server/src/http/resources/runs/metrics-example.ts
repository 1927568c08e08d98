const FIGURES = {
  ended: 2,
  succeeded: 1,
  failed: 1,
  cancelled: 0,
  expired: 0,
  system_failed: 0,
  failure_rate: 0.5,
  queue_time_ms: { p50: 12, p95: 31, p99: 31 },
  duration_ms: { p50: 840, p95: 1_290, p99: 1_290 },
};

const PLACE = {
  at: "2026-11-20T09:15:12.345Z",
  window: "24h",
  since: "2026-11-19T10:00:00.000Z",
  history_complete: true,
};

/** Bodies that the documents show; a test checks them against the schemas. */
export const EXAMPLE_METRICS = {
  ...PLACE,
  task: null,
  actor: null,
  bucket_ms: 900_000,
  total: FIGURES,
  buckets: [{ at: "2026-11-20T09:15:00.000Z", ...FIGURES }],
  gauges: [
    {
      at: "2026-11-20T09:15:00.000Z",
      queued: { max: 12, last: 3 },
      oldest_queued_ms: { max: 4_210, last: 180 },
      waiting: { max: 1, last: 1 },
      pending_tokens: { max: 1, last: 1 },
      worker_slots: { max: 20, last: 20 },
      used_worker_slots: { max: 20, last: 7 },
    },
  ],
};

export const EXAMPLE_ENTRYPOINT_METRICS = {
  ...PLACE,
  entrypoints: [
    {
      task: "send-report",
      actor: null,
      ...FIGURES,
      last_run: {
        id: "run_01kahvq3rtexwt6a4e3p9c0z5h",
        status: "succeeded",
        created_at: "2026-11-20T09:15:00.123Z",
      },
    },
  ],
  entrypoints_complete: true,
};
