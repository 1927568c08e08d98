import type { Uuid } from "@keelson/contract";
import { firstUuidOf } from "../../uuid.ts";
import { releaseSomeBlobs } from "../blobs/need-blobs.ts";
import type { ItemContext } from "../loop-failures/failed-items.ts";
import { processEach } from "../loop-failures/process-items.ts";
import { FIRST_KEY, type DroppedKind, type RetentionPolicy } from "./retention.ts";
import { listEnvironmentIds, takeRetentionLock } from "./retention-reads.ts";
import { lockWorkspace } from "../workspaces/workspace-reads.ts";
import type { TreeCache } from "../versions/tree-cache.ts";
import {
  findVersionCount,
  listAgedVersions,
  listAgedWorkspaces,
  lockVersions,
  type AgedVersion,
  type VersionAge,
} from "./version-retention-reads.ts";
import { deleteDroppable } from "./version-retention-writes.ts";

export type VersionRetentionContext = ItemContext & {
  trees: TreeCache;
  retention: RetentionPolicy;
  countDropped: (kind: DroppedKind, count: number) => void;
};

const PAGE = 500;
/**
 * What the versions that stay need is read from all of their manifests. A workspace with many is worth that when so many
 * of them go that each was read a few times at most.
 */
const READS_A_VERSION = 10;

/** Drops versions that were kept long enough, with what only they need. */
export async function dropVersionsByAge(context: VersionRetentionContext): Promise<void> {
  const { db, clock, retention } = context;
  if (retention.versionsMs === null) return;
  const createdBefore = clock() - retention.versionsMs;
  const age = { createdBefore, newest: retention.versionCount };
  const horizon = firstUuidOf(createdBefore);
  for (const environmentId of await listEnvironmentIds(db)) {
    for (let after: string | null = FIRST_KEY; after !== null;) {
      const page = await listAgedWorkspaces(db, environmentId, after, horizon, age, PAGE);
      await processEach(
        context,
        "drop-versions",
        page.workspaceIds,
        (workspaceId) => ({ environmentId, itemId: workspaceId }),
        (workspaceId) => dropOf(context, environmentId, workspaceId, age),
      );
      after = page.last;
    }
  }
}

async function dropOf(
  context: VersionRetentionContext,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
  age: VersionAge,
): Promise<void> {
  const { db, clock, countDropped } = context;
  const versions = await listAgedVersions(db, environmentId, workspaceId, age);
  const going = versions.filter(({ isDroppable }) => isDroppable);
  const staying = versions.filter(({ isDroppable }) => !isDroppable);
  const [first] = versions;
  if (first === undefined || going.length * READS_A_VERSION < staying.length) return;
  const digests = await findUnneeded(context, environmentId, going, staying);
  const ids = going.map(({ id }) => id);
  const dropped = await db
    .transaction(async (tx) => {
      if (!(await takeRetentionLock(tx))) return 0;
      await lockWorkspace(tx, environmentId, workspaceId);
      // A version that was made meanwhile may need what is about to go: the next round looks again.
      if ((await findVersionCount(tx, environmentId, workspaceId)) !== first.versionCount) return 0;
      await lockVersions(tx, environmentId, ids);
      const count = await deleteDroppable(tx, environmentId, workspaceId, ids, age);
      if (count !== ids.length) throw new Refused();
      await releaseSomeBlobs(tx, environmentId, workspaceId, digests, clock());
      return count;
    })
    .catch((error: unknown) => {
      if (error instanceof Refused) return 0;
      throw error;
    });
  countDropped("versions", dropped);
}

/** One of the versions is referred to since it was looked at: nothing of the workspace goes this time. */
class Refused extends Error {}

/** What the versions that go need, and none of those that stay. */
async function findUnneeded(
  { trees }: VersionRetentionContext,
  environmentId: Uuid<"env">,
  going: readonly AgedVersion[],
  staying: readonly AgedVersion[],
): Promise<string[]> {
  const needsOf = async (version: AgedVersion): Promise<string[]> => {
    const manifest = version.manifestDigest.toString("hex");
    return [manifest, ...(await trees.load(environmentId, manifest)).blobs];
  };
  const unneeded = new Set<string>();
  for (const version of going) for (const digest of await needsOf(version)) unneeded.add(digest);
  for (const version of staying) for (const digest of await needsOf(version)) unneeded.delete(digest);
  return [...unneeded];
}
