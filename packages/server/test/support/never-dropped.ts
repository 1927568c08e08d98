import type { RetentionPolicy } from "../../src/core/retention/retention.ts";

/** Everything is kept: a test says what is dropped, and when. */
export const NEVER_DROPPED: RetentionPolicy = {
  runsMs: null,
  eventsMs: null,
  logsMs: null,
  sessionsMs: null,
  recordsMs: null,
  tokensMs: null,
  occurrencesMs: null,
  outputMs: null,
  processesMs: null,
  runWorkspacesMs: null,
  versionsMs: null,
  versionCount: 1,
  deploymentsMs: null,
};
