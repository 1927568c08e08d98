import { collectBlobs } from "../core/blobs/collect-blobs.ts";
import type { BlobContext } from "../core/blobs/store-blob.ts";
import { wakeKeys, type Wakes } from "../core/feeds/wakes.ts";
import {
  hasAnyToSweep,
  listCrowdedGroups,
  listIdle,
  listOverdue,
  listSpare,
  type OverdueMaterialization,
} from "../core/materializations/materialization-reads.ts";
import {
  loseMaterialization,
  stopIdleMaterialization,
  type Swept,
} from "../core/materializations/sweep-materializations.ts";
import type { NewUuid } from "../uuid.ts";
import { SAFEGUARD_MS, type LoopWork } from "./loop.ts";

export type WorkspaceLoopContext = BlobContext & {
  wakes: Wakes;
  newUuid: NewUuid;
  /** How long a live workspace is kept on its machine while nothing happens in it. */
  workspaceIdleMs: number;
};

const SWEEP_LIMIT = 100;
/** How long an idle workspace is kept on a machine that is full while others wait, and how many make room at once. */
const SPARED_MS = 2_000;
const SPARE_LIMIT = 8;

/** What only the passing of time does to workspaces. Every replica runs them; a workspace's lock decides. */
export function workspaceLoops(context: WorkspaceLoopContext): LoopWork[] {
  const { db, clock, newUuid, wakes, workspaceIdleMs } = context;
  const tell = (swept: Swept | null): void => {
    if (swept === null) return;
    wakes.wake(wakeKeys.workspace(swept.workspaceId));
    wakes.wake(wakeKeys.workspaceWork(swept.workerGroupId));
    // Runs that waited for the worker that had it may go elsewhere.
    wakes.wake(wakeKeys.work(swept.workerGroupId));
    if (swept.workerId !== null) wakes.wake(wakeKeys.workerWorkspaces(swept.workerId));
  };
  const stopIdle = async (idle: readonly OverdueMaterialization[], activeBefore: number): Promise<void> => {
    for (const one of idle)
      tell(await db.transaction((tx) => stopIdleMaterialization(tx, newUuid, one, activeBefore, clock())));
  };
  return [
    {
      name: "sweep-materializations",
      intervalMs: SAFEGUARD_MS,
      due: (now) => hasAnyToSweep(now, now - workspaceIdleMs),
      run: async () => {
        for (const overdue of await listOverdue(db, clock(), SWEEP_LIMIT))
          tell(await db.transaction((tx) => loseMaterialization(tx, newUuid, overdue, clock())));
        const activeBefore = clock() - workspaceIdleMs;
        await stopIdle(await listIdle(db, activeBefore, SWEEP_LIMIT), activeBefore);
        const crowded = await listCrowdedGroups(db);
        if (crowded.length === 0) return;
        const sparedBefore = clock() - Math.min(SPARED_MS, workspaceIdleMs);
        await stopIdle(await listSpare(db, crowded, sparedBefore, SPARE_LIMIT), sparedBefore);
      },
    },
    {
      name: "collect-blobs",
      intervalMs: 60_000,
      run: async () => {
        let round;
        do round = await collectBlobs(context);
        while (round.mayHaveMore);
      },
    },
  ];
}
