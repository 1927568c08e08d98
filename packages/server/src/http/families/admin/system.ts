import { API_VERSION, formatDuration, System, WORKER_PROTOCOL_VERSION } from "@keelson/contract";
import {
  findBlobSizes,
  findDatabaseFacts,
  listMigrations,
  listTableSizes,
} from "../../../core/system/system-reads.ts";
import { listLoopFailures } from "../../../core/loop-failures/loop-failure-reads.ts";
import { DEFAULT_KEY_LIFE_MS } from "../../../core/idempotency/idempotency-expiry.ts";
import { DELETED_WORKSPACES_MS, soonerOf, type RetentionPolicy } from "../../../core/retention/retention.ts";
import type { Tx } from "../../../db/queryable.ts";
import type { ServerContext } from "../../../server-context.ts";
import { SERVER_VERSION } from "../../../version.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import { toLoopFailure } from "./wire.ts";
import { toTimestamp } from "../../edge/time.ts";

const kept = (ms: number | null): string | null => (ms === null ? null : formatDuration(ms));

/** How long what has ended is kept, by kind; null is for ever. */
const retentionOf = (policy: RetentionPolicy): System["retention"] => ({
  audit_events: null,
  idempotency_keys: formatDuration(DEFAULT_KEY_LIFE_MS),
  runs: kept(policy.runsMs),
  run_events: kept(soonerOf(policy.runsMs, policy.eventsMs)),
  run_logs: kept(soonerOf(policy.runsMs, policy.logsMs)),
  sessions: kept(policy.sessionsMs),
  records: kept(soonerOf(policy.sessionsMs, policy.recordsMs)),
  tokens: kept(policy.tokensMs),
  occurrences: kept(policy.occurrencesMs),
  process_outputs: kept(soonerOf(policy.processesMs, policy.outputMs)),
  processes: kept(policy.processesMs),
  run_workspaces: kept(policy.runWorkspacesMs),
  deleted_workspaces: kept(DELETED_WORKSPACES_MS),
  versions: kept(policy.versionsMs),
});

/** Beyond it the log and the metric say how many there are. */
const FAILURES_SHOWN = 100;

async function systemOf(tx: Tx, { retention, timekeeper }: ServerContext): Promise<System> {
  // As a transaction that writes sees it: behind a pooler each is set for itself.
  const database = await findDatabaseFacts(tx);
  const tables = await listTableSizes(tx);
  const blobs = await findBlobSizes(tx);
  const migrations = await listMigrations(tx);
  const failures = await listLoopFailures(tx, FAILURES_SHOWN);
  return {
    version: SERVER_VERSION,
    api_version: API_VERSION,
    worker_protocol_version: WORKER_PROTOCOL_VERSION,
    runtime: `Node.js ${process.version}`,
    clock_problem: timekeeper.wallClockProblem(),
    database: {
      version: database.version,
      fsync: database.fsync,
      full_page_writes: database.fullPageWrites,
      synchronous_commit: database.synchronousCommit,
      synchronous_standby_names: database.synchronousStandbyNames,
      standbys: database.standbys,
      max_connections: database.maxConnections,
      size_bytes: database.sizeBytes,
    },
    tables: tables.map(({ name, rows, sizeBytes }) => ({ name, rows, size_bytes: sizeBytes })),
    blobs: {
      bundles: { count: blobs.bundles, size_bytes: blobs.bundleBytes },
      workspaces: { count: blobs.pieces, size_bytes: blobs.pieceBytes },
    },
    retention: retentionOf(retention),
    loop_failures: failures.map(toLoopFailure),
    migrations: migrations.map(({ name, appliedAt }) => ({ name, applied_at: toTimestamp(appliedAt) })),
  };
}

export const adminSystemRoutes: RouteDefinition[] = [
  route({
    in: ["admin"],
    method: "GET",
    path: "/system",
    name: "adminGetSystem",
    summary: "Get the installation's versions, durability and sizes",
    description:
      "`fsync`, `full_page_writes` and `synchronous_commit` protect confirmed changes: the server does not start without the first two.",
    tag: "System",
    access: { kind: "admin" },
    responses: { 200: { description: "The installation.", schema: System } },
    transaction: "snapshot",
    handle: async ({ tx, server }) => ({ status: 200, body: await systemOf(tx, server) }),
  }),
];
