import { WORKER_STATUSES } from "@keelson/contract";
import type {
  LiveRuns,
  OldestSnapshot,
  QueueVacuum,
  ReadyRuns,
  WorkerCount,
} from "../../core/system/watch-reads.ts";
import type { BlobSizes } from "../../core/system/system-reads.ts";
import type { Metrics } from "../edge/metrics.ts";

/** What the database is asked. Each question is one reading, so that none fails with another. */
export type DatabaseReads = {
  now: () => number;
  liveRuns: () => Promise<LiveRuns>;
  readyRuns: () => Promise<ReadyRuns>;
  workers: () => Promise<WorkerCount[]>;
  openTokens: () => Promise<number>;
  databaseSize: () => Promise<number>;
  oldestSnapshot: () => Promise<OldestSnapshot>;
  queueVacuum: () => Promise<QueueVacuum>;
  indexBuilds: () => Promise<number>;
  blobSizes: () => Promise<BlobSizes>;
};

/** Shows what all servers together have to do. Each server reads the same numbers: take the maximum, not the sum. */
export function showDatabase(metrics: Metrics, reads: DatabaseReads): void {
  showRuns(metrics, reads);
  showRest(metrics, reads);
  showBlobs(metrics, reads);
}

function showRuns(metrics: Metrics, { now, liveRuns, readyRuns, workers }: DatabaseReads): void {
  const runs = "keelson_runs";
  metrics.reading({
    name: "live_runs",
    gauges: [
      {
        name: runs,
        help: "Runs that have not ended, by status: delayed runs and retries are queued, runs that are asked to end are running.",
      },
    ],
    read: async () => {
      const { queued, running, waiting } = await liveRuns();
      return Object.entries({ queued, running, waiting }).map(([status, value]) => ({
        ...{ name: runs, labels: `status="${status}"`, value },
      }));
    },
  });
  const [ready, oldest] = ["keelson_runs_ready", "keelson_oldest_ready_run_seconds"];
  metrics.reading({
    name: "ready_runs",
    gauges: [
      { name: ready, help: "Queued runs that could start at once if a worker had a slot, at most 100,000." },
      { name: oldest, help: "How long the oldest of them has been ready; 0 when there is none." },
    ],
    read: async () => {
      const found = await readyRuns();
      const age = found.oldestReadyAt === null ? 0 : Math.max(0, now() - found.oldestReadyAt) / 1_000;
      return [
        { name: ready, value: found.ready },
        { name: oldest, value: age },
      ];
    },
  });
  const count = "keelson_workers";
  metrics.reading({
    name: "workers",
    gauges: [{ name: count, help: "Workers by status; lost are those that stopped responding." }],
    read: async () => {
      const found = new Map((await workers()).map((row) => [row.status, row.count]));
      return WORKER_STATUSES.map((status) => ({
        ...{ name: count, labels: `status="${status}"`, value: found.get(status) ?? 0 },
      }));
    },
  });
}

function showRest(
  metrics: Metrics,
  { openTokens, databaseSize, oldestSnapshot, queueVacuum, indexBuilds }: DatabaseReads,
): void {
  const one = (reading: string, name: string, help: string, read: () => Promise<number>): void =>
    metrics.reading({
      ...{ name: reading, gauges: [{ name, help }] },
      read: async () => [{ name, value: await read() }],
    });
  one(
    "open_tokens",
    "keelson_tokens_open",
    "Tokens that nobody has completed yet, at most 100,000.",
    openTokens,
  );
  one("database_size", "keelson_database_size_bytes", "Size of the database with its indexes.", databaseSize);
  one(
    "index_builds",
    "keelson_indexes_to_build",
    "Indexes of an upgrade that the servers have not built yet.",
    indexBuilds,
  );
  const [seconds, transactions] = ["keelson_oldest_snapshot_seconds", "keelson_oldest_snapshot_transactions"];
  metrics.reading({
    name: "oldest_snapshot",
    gauges: [
      {
        name: seconds,
        help: "How long the oldest transaction is open that keeps PostgreSQL from removing dead rows. Absent where sessions of other users are hidden.",
      },
      {
        name: transactions,
        help: "How many transactions ago the oldest snapshot was taken, those of standbys, slots and prepared transactions included.",
      },
    ],
    read: async () => {
      const oldest = await oldestSnapshot();
      return [
        { name: seconds, value: oldest.seconds },
        { name: transactions, value: oldest.transactions },
      ];
    },
  });
  const [vacuumed, dead] = [
    "keelson_executions_last_vacuum_timestamp_seconds",
    "keelson_executions_dead_rows",
  ];
  metrics.reading({
    name: "queue_vacuum",
    gauges: [
      { name: vacuumed, help: "When the table of live runs was last vacuumed, in Unix time; absent before." },
      { name: dead, help: "Dead rows in the table of live runs, as PostgreSQL estimates them." },
    ],
    read: async () => {
      const { vacuumedAt, deadRows } = await queueVacuum();
      return [
        { name: vacuumed, value: vacuumedAt === null ? null : vacuumedAt / 1_000 },
        { name: dead, value: deadRows },
      ];
    },
  });
}

/** Each blob has a row, and all of them are added up. */
const BLOBS_KEPT_MS = 5 * 60_000;

function showBlobs(metrics: Metrics, { blobSizes }: DatabaseReads): void {
  const name = "keelson_blob_bytes";
  metrics.reading({
    name: "blobs",
    gauges: [
      {
        name,
        help: "Bytes in the blob store: bundles of deployments, and pieces of workspaces, files and packed logs.",
      },
    ],
    keptMs: BLOBS_KEPT_MS,
    read: async () => {
      const { bundleBytes, pieceBytes } = await blobSizes();
      return [
        { name, labels: `kind="bundle"`, value: bundleBytes },
        { name, labels: `kind="piece"`, value: pieceBytes },
      ];
    },
  });
}
