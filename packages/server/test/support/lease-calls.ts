// Lease calls by the server's own operation, with nothing else that looks at ready runs.

import { randomUUID } from "node:crypto";
import { decodeId, type Uuid } from "@keelson/contract";
import { createLeasePolls } from "../../src/core/executions/lease-polls.ts";
import { wakeKeys } from "../../src/core/feeds/wake-keys.ts";
import { createWakes } from "../../src/core/feeds/wakes.ts";
import {
  leaseExecutions,
  type LeaseAnswer,
  type LeaseContext,
} from "../../src/core/leases/lease-executions.ts";
import { createRecentLooks } from "../../src/core/leases/recent-looks.ts";
import { sql } from "../../src/db/sql.ts";
import { readyRunsOf, type ReadyRuns } from "./ready-runs.ts";
import type { RunScene } from "./run-scene.ts";

export interface LeaseCalls {
  readonly ready: ReadyRuns;
  /** Of a server that has just started and finds nothing ready. */
  begin(options?: BeginOptions): Promise<LeaseServer>;
}

export interface BeginOptions {
  /** Whether somebody holds an old snapshot. */
  readonly isHeld?: boolean;
  /** The clock of the looks for ready runs, milliseconds. */
  readonly nowMs?: () => number;
}

export interface LeaseServer {
  readonly context: LeaseContext;
  /** The scene's worker asks for runs. */
  lease(options: LeaseOptions): Promise<LeaseAnswer>;
  /** The next poll is open: it looked, and waits. */
  untilOpen(): Promise<void>;
  /** A run is ready, which nobody is told of. */
  addOne(): Promise<void>;
  /** Everyone is told that runs are ready. */
  wake(): void;
}

export interface LeaseOptions {
  readonly limit: number;
  readonly requestId?: string;
  readonly waitMs?: number;
}

export async function leaseCallsOf(scene: RunScene): Promise<LeaseCalls> {
  const ready = await readyRunsOf(scene);
  const { db } = scene.server;
  return {
    ready,
    begin: async ({ isHeld = false, nowMs = () => 0 } = {}) => {
      await db.query(sql`DELETE FROM executions`);
      const wakes = createWakes(() => undefined);
      const leasePolls = createLeasePolls();
      let opened = Promise.withResolvers<void>();
      const context: LeaseContext = {
        ...ready.begin(isHeld),
        ...{ db, clock: scene.clock.now, wakes },
        recentLooks: createRecentLooks(wakes, nowMs),
        leasePolls: {
          ...leasePolls,
          open: (poll) => {
            leasePolls.open(poll);
            opened.resolve();
          },
        },
        ...{ leaseDurationMs: 15_000, noteLeased: () => undefined },
      };
      return {
        context,
        lease: ({ limit, requestId = randomUUID(), waitMs = 600_000 }) => {
          const call = {
            workerId: decodeId("wkr", scene.worker.id) as Uuid<"wkr">,
            workerGroupId: ready.workerGroupId,
            ...{ leaseRequestId: requestId, calledAt: scene.clock.now(), limit, heldChecks: null, waitMs },
          };
          return leaseExecutions(context, call, new AbortController().signal);
        },
        untilOpen: async () => {
          await opened.promise;
          opened = Promise.withResolvers<void>();
        },
        addOne: () => ready.add([randomUUID()], 1),
        wake: () => wakes.wake(wakeKeys.work(ready.workerGroupId)),
      };
    },
  };
}
