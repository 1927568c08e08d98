import { dropRunWorkspaces, type RunWorkspaceContext } from "../core/materializations/drop-run-workspaces.ts";
import { dropEnded, type RetentionContext } from "../core/retention/drop-ended.ts";
import { dropVersionsByAge, type VersionRetentionContext } from "../core/retention/drop-versions.ts";
import { createSweepFronts, type SweepFronts } from "../core/retention/sweep-fronts.ts";
import { packLogs, type PackContext } from "../core/run-logs/pack-logs.ts";
import { packRecords, type PackRecordsContext } from "../core/streams/pack-records.ts";
import type { LoopWork } from "./loop.ts";

/** What is kept for days need not go to the minute. */
const INTERVAL_MS = 10 * 60_000;

const PACK_INTERVAL_MS = 60_000;

/** Packs old logs and records, and drops what was kept long enough. Every replica runs them; each piece is done by one of them. */
export const retentionLoops = (
  context: RetentionContext &
    VersionRetentionContext &
    RunWorkspaceContext &
    PackContext &
    PackRecordsContext,
  runFronts: SweepFronts = createSweepFronts(),
): LoopWork[] => [
  { name: "pack-logs", intervalMs: PACK_INTERVAL_MS, run: () => packLogs(context) },
  {
    name: "pack-records",
    intervalMs: INTERVAL_MS,
    needs: "settled-time",
    run: () => packRecords(context),
  },
  {
    name: "drop-ended",
    intervalMs: INTERVAL_MS,
    needs: "settled-time",
    run: () => dropEnded({ ...context, runFronts }),
  },
  {
    name: "drop-versions",
    intervalMs: INTERVAL_MS,
    needs: "settled-time",
    run: () => dropVersionsByAge(context),
  },
  {
    name: "drop-run-workspaces",
    intervalMs: INTERVAL_MS,
    needs: "settled-time",
    run: () => dropRunWorkspaces(context),
  },
];
