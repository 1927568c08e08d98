/** Bodies that the document shows; a test checks them against the schemas. */

export const EXAMPLE_DEFINITION = {
  task: "send-report",
  cron: "30 7 * * MON-FRI",
  timezone: "Europe/Berlin",
  options: { queue: "reports", tags: ["nightly"] },
};

export const EXAMPLE_PUT_SCHEDULE = { deduplication_key: "customer-17-report", ...EXAMPLE_DEFINITION };

export const EXAMPLE_SCHEDULE = {
  id: "sched_01kahvt6m4f1xs8d6n2m8r0y3v",
  project_id: "proj_01kahvn0a1e4ctr95j1v8r4y7m",
  environment_id: "env_01kahvn0a2fq6s8j3m0b5y4t1k",
  type: "imperative",
  status: "active",
  status_reason: null,
  external_id: null,
  ...EXAMPLE_PUT_SCHEDULE,
  active: true,
  next_run_at: "2026-11-23T06:30:00.000Z",
  last_run_at: "2026-11-20T06:30:00.004Z",
  last_run_id: "run_01kahvq3rwfw9vs4m6ev2n8y1c",
  last_error: null,
  created_at: "2026-11-20T09:15:00.123Z",
  updated_at: "2026-11-20T09:15:00.123Z",
};

export const EXAMPLE_OCCURRENCE = {
  schedule_id: EXAMPLE_SCHEDULE.id,
  scheduled_at: "2026-11-20T06:30:00.000Z",
  status: "fired",
  run_id: "run_01kahvq3rwfw9vs4m6ev2n8y1c",
  reason: null,
  created_at: "2026-11-20T06:30:00.004Z",
};
