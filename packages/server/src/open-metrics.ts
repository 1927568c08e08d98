import type { Logger } from "pino";
import type { Clock } from "./clock.ts";
import { listRunLabels } from "./core/runs/run-label-reads.ts";
import {
  countIndexBuilds,
  countLiveRuns,
  countOpenTokens,
  countWorkers,
  findDatabaseSize,
  findOldestSnapshot,
  findQueueVacuum,
  findReadyRuns,
} from "./core/system/watch-reads.ts";
import { findBlobSizes } from "./core/system/system-reads.ts";
import type { Queryable } from "./db/queryable.ts";
import { createMetrics, type Metrics } from "./http/edge/metrics.ts";
import { showDatabase } from "./http/system/database-readings.ts";
import { createRunMetrics, type RunMetrics } from "./http/system/run-metrics.ts";
import { createScheduleMetrics } from "./http/system/schedule-metrics.ts";
import type { NotedFact } from "./noted-fact.ts";

export type OpenMetrics = {
  metrics: Metrics;
  noteLeased: RunMetrics["noteLeased"];
  /** Hears of each fact that a transaction noted, after its COMMIT. */
  note: (fact: NotedFact) => void;
  /** Hears how long each caller waited for a connection. */
  noteWaited: (waitedMs: number) => void;
  /** Shows what the database says, when there is one. */
  readFrom: (db: Queryable, clock: Clock) => void;
};

const POOL_BOUNDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15];

/** Made before the database, whose connections and transactions are counted. */
export function openMetrics(log: Logger): OpenMetrics {
  const metrics = createMetrics((reading, error) =>
    log.warn({ err: error, reading }, "a reading of /metrics failed; its metrics are left out"),
  );
  const runs = createRunMetrics(metrics);
  const noteOccurrences = createScheduleMetrics(metrics);
  const waited = metrics
    .histograms(
      "keelson_db_pool_wait_seconds",
      "How long callers waited for a connection to the database, those included that were given up.",
      [],
      POOL_BOUNDS,
    )
    .of();
  return {
    metrics,
    noteLeased: runs.noteLeased,
    note: (fact) => {
      switch (fact.kind) {
        case "runs":
          return runs.noteRuns(fact);
        case "waits":
          return runs.noteWaits(fact);
        case "occurrences":
          return noteOccurrences(fact);
        // Starts are counted when they are leased.
        case "starts":
          return undefined;
      }
    },
    noteWaited: (waitedMs) => waited.observe(waitedMs / 1_000),
    readFrom: (db, clock) => {
      runs.readLabelsBy((keys) => listRunLabels(db, keys));
      showDatabase(metrics, {
        now: clock,
        liveRuns: () => countLiveRuns(db),
        readyRuns: () => findReadyRuns(db),
        workers: () => countWorkers(db, clock()),
        openTokens: () => countOpenTokens(db),
        databaseSize: () => findDatabaseSize(db),
        oldestSnapshot: () => findOldestSnapshot(db),
        queueVacuum: () => findQueueVacuum(db),
        indexBuilds: () => countIndexBuilds(db),
        blobSizes: () => findBlobSizes(db),
      });
    },
  };
}
