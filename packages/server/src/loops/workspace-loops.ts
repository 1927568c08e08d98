import { collectBlobs } from "../core/blobs/collect-blobs.ts";
import type { BlobContext } from "../core/blobs/store-blob.ts";
import type { ItemContext } from "../core/loop-failures/failed-items.ts";
import { processEach } from "../core/loop-failures/process-items.ts";
import {
  hasIdleMaterializations,
  hasOverdueMaterializations,
  listCrowdedGroups,
  listIdle,
  listOverdue,
  listSpare,
  type OverdueMaterialization,
} from "../core/materializations/materialization-reads.ts";
import {
  loseMaterialization,
  stopIdleMaterialization,
} from "../core/materializations/sweep-materializations.ts";
import type { NewUuid } from "../uuid.ts";
import { SAFEGUARD_MS, type LoopWork } from "./loop.ts";

export type WorkspaceLoopContext = BlobContext &
  ItemContext & {
    newUuid: NewUuid;
    leaseDurationMs: number;
    /** How long a live workspace is kept on its machine while nothing happens in it. */
    workspaceIdleMs: number;
  };

const SWEEP_LIMIT = 100;
/** How long an idle workspace is kept on a machine that is full while others wait, and how many make room at once. */
const SPARED_MS = 2_000;
const SPARE_LIMIT = 8;

/** What only the passing of time does to workspaces. Every replica runs them; a workspace's lock decides. */
export function workspaceLoops(context: WorkspaceLoopContext): LoopWork[] {
  const { db, clock, newUuid, workspaceIdleMs, leaseDurationMs } = context;
  const each = (
    rows: readonly OverdueMaterialization[],
    work: (one: OverdueMaterialization) => Promise<void>,
  ): Promise<number> =>
    processEach(
      context,
      "sweep-materializations",
      rows,
      ({ environmentId, id }) => ({ environmentId, itemId: id }),
      work,
    );
  const stopIdle = async (idle: readonly OverdueMaterialization[], activeBefore: number): Promise<void> => {
    await each(idle, (one) =>
      db.transaction((tx) => stopIdleMaterialization(tx, newUuid, one, activeBefore, clock())),
    );
  };
  return [
    {
      name: "sweep-materializations",
      intervalMs: SAFEGUARD_MS,
      needs: "watched-silence",
      due: (now) => hasOverdueMaterializations({ now, leaseDurationMs }),
      run: async () => {
        await each(await listOverdue(db, { now: clock(), leaseDurationMs }, SWEEP_LIMIT), (overdue) =>
          db.transaction((tx) => loseMaterialization(tx, newUuid, overdue, clock())),
        );
      },
    },
    {
      name: "stop-idle-workspaces",
      intervalMs: SAFEGUARD_MS,
      due: (now) => hasIdleMaterializations(now, now - workspaceIdleMs),
      run: async () => {
        const activeBefore = clock() - workspaceIdleMs;
        await stopIdle(await listIdle(db, activeBefore, clock(), SWEEP_LIMIT), activeBefore);
        const crowded = await listCrowdedGroups(db);
        if (crowded.length === 0) return;
        const sparedBefore = clock() - Math.min(SPARED_MS, workspaceIdleMs);
        await stopIdle(await listSpare(db, crowded, sparedBefore, clock(), SPARE_LIMIT), sparedBefore);
      },
    },
    {
      name: "collect-blobs",
      intervalMs: 60_000,
      needs: "settled-time",
      run: async () => {
        let round;
        do round = await collectBlobs(context);
        while (round.mayHaveMore);
      },
    },
  ];
}
