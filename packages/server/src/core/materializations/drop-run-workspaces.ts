import type { Uuid } from "@keelson/contract";
import { BACKGROUND_LIMIT_MS } from "../../db/session-settings.ts";
import { firstUuidOf, type NewUuid } from "../../uuid.ts";
import type { ItemContext } from "../loop-failures/failed-items.ts";
import { processEach } from "../loop-failures/process-items.ts";
import { FIRST_KEY, type DroppedKind, type RetentionPolicy } from "../retention/retention.ts";
import { listEnvironmentIds, takeRetentionLock } from "../retention/retention-reads.ts";
import { deleteWorkspace } from "./delete-workspace.ts";
import { findUnusedRunWorkspace, listRunWorkspaces, lockRunWorkspace } from "./run-workspace-reads.ts";

export type RunWorkspaceContext = ItemContext & {
  newUuid: NewUuid;
  retention: RetentionPolicy;
  countDropped: (kind: DroppedKind, count: number) => void;
};

const PAGE = 500;

/**
 * Deletes workspaces that were made for a run and that nobody has used for long, as somebody does who deletes them one by
 * one. Whoever uses or names one at that moment holds its row, and is seen; whoever comes after finds it deleted.
 */
export async function dropRunWorkspaces(context: RunWorkspaceContext): Promise<void> {
  const { db, clock, retention } = context;
  if (retention.runWorkspacesMs === null) return;
  const usedBefore = clock() - retention.runWorkspacesMs;
  const horizon = firstUuidOf(usedBefore);
  for (const environmentId of await listEnvironmentIds(db)) {
    for (let after: string | null = FIRST_KEY; after !== null;) {
      const page = await listRunWorkspaces(db, { environmentId, after, horizon, usedBefore, limit: PAGE });
      await processEach(
        context,
        "drop-run_workspaces",
        page.flatMap(({ id, isUnused }) => (isUnused ? [id] : [])),
        (itemId) => ({ environmentId, itemId }),
        (workspaceId) => dropUnused(context, environmentId, workspaceId, usedBefore),
      );
      after = page.at(-1)?.id ?? null;
    }
  }
}

/** In a transaction of its own: new workspaces need the blobs that they have in common, and wait for whoever releases them. */
async function dropUnused(
  { db, clock, newUuid, countDropped }: RunWorkspaceContext,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
  usedBefore: number,
): Promise<void> {
  const isDropped = await db.transaction(
    async (tx) => {
      if (!(await takeRetentionLock(tx))) return false;
      if (!(await lockRunWorkspace(tx, environmentId, workspaceId))) return false;
      if (!(await findUnusedRunWorkspace(tx, environmentId, workspaceId, usedBefore))) return false;
      await deleteWorkspace(tx, newUuid, environmentId, workspaceId, clock());
      return true;
    },
    // A crash of PostgreSQL may undo the last ones, and the next round deletes them again.
    { durability: "relaxed", limitMs: BACKGROUND_LIMIT_MS },
  );
  if (isDropped) countDropped("run_workspaces", 1);
}
