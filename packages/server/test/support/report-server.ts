// A server that is told by a worker what became of its runs, by the server's own operation. Each knows only what it has written itself.

import { decodeId, type Uuid } from "@keelson/contract";
import { createDeploymentCache } from "../../src/core/entrypoints/deployment-cache.ts";
import { createClaimStarts } from "../../src/core/executions/claim-starts.ts";
import { createKnownRuns } from "../../src/core/executions/known-runs.ts";
import { createLeasePolls } from "../../src/core/executions/lease-polls.ts";
import { createReadyFronts } from "../../src/core/executions/ready-fronts.ts";
import {
  createWrittenExecutions,
  type WrittenExecutions,
} from "../../src/core/executions/written-executions.ts";
import { applyReport } from "../../src/core/leases/apply-report.ts";
import { createRecentLooks } from "../../src/core/leases/recent-looks.ts";
import type { LeasedContent, LeasedOperation } from "../../src/core/leases/report-batch.ts";
import { ADMITTED } from "../../src/core/quotas/run-quota.ts";
import type { Database } from "../../src/db/pool.ts";
import { createUuidGenerator } from "../../src/uuid.ts";
import type { RunScene } from "./run-scene.ts";

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

export type ReportServer = {
  readonly writtenExecutions: WrittenExecutions;
  /** Operations of leases, as `lease.operation` makes them. @returns whether each was applied. */
  report(...operations: readonly Json[]): Promise<boolean[]>;
};

export type ReportServerOptions = {
  /** What it has of the database. */
  db?: Database;
  /** What it knows. Default: nothing yet. */
  writtenExecutions?: WrittenExecutions;
};

export function reportServer(
  scene: RunScene,
  { db = scene.server.db, writtenExecutions = createWrittenExecutions() }: ReportServerOptions = {},
): ReportServer {
  const { clock } = scene;
  const context = {
    ...{ db, clock: clock.now, newUuid: createUuidGenerator(clock.now), random: () => 0.5 },
    deployments: createDeploymentCache({ db, clock: clock.now }),
    runQuota: ADMITTED,
    storageQuota: { noteAppended: () => undefined } as never,
    masterKey: null as never,
    keyring: null as never,
    origin: { cell: null, keyNumber: 0 },
    ...{ leasePolls: createLeasePolls(), claimStarts: createClaimStarts(), leaseDurationMs: 15_000 },
    readyFronts: createReadyFronts({
      ...{ db, clock: clock.now, knownRuns: createKnownRuns() },
      noteHeld: () => undefined,
    }),
    recentLooks: createRecentLooks({ woken: () => 0 }),
    writtenExecutions,
  };
  const workerId = decodeId("wkr", scene.worker.id) as Uuid<"wkr">;
  return {
    writtenExecutions,
    report: async (...operations) => {
      const { outcomes } = await applyReport(context, workerId, operations.map(toLeased), null);
      return outcomes.map(({ ok }) => ok);
    },
  };
}

function toLeased(operation: Json): LeasedOperation {
  return {
    environmentId: decodeId("env", operation.environment_id) as Uuid<"env">,
    runId: decodeId("run", operation.run_id) as Uuid<"run">,
    leaseId: decodeId("lease", operation.lease_id) as Uuid<"lease">,
    epoch: operation.epoch,
    operation: operation as LeasedContent,
  };
}
