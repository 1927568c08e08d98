import { decodeId, type CommitWorkspace, type Uuid } from "@keelson/contract";
import type { Clock } from "../../clock.ts";
import type { Database } from "../../db/pool.ts";
import type { NewUuid } from "../../uuid.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import type { Wakes } from "../feeds/wakes.ts";
import { exitOf } from "../processes/report-process.ts";
import type { StoredTree } from "../versions/version.ts";
import type { VersionRow } from "../versions/version-reads.ts";
import { insertLiveCommit, type EndedProcess, type LiveCommit } from "./live-commit-writes.ts";
import type { MaterializationRow } from "./materialization-reads.ts";

export type LiveCommitContext = { db: Database; clock: Clock; newUuid: NewUuid; wakes: Wakes };

/** Each is locked, where the transaction locks only those that are new. */
const MAX_BLOBS = 200;

/**
 * Commits a tree in one statement where the workspace is live and nothing is to be decided: null, and nothing is done, in
 * every other case.
 *
 * @param place the materialization as it was seen before.
 */
export async function commitLive(
  { db, clock, newUuid, wakes }: LiveCommitContext,
  place: Pick<MaterializationRow, "environmentId" | "id" | "workspaceId" | "epoch"> & {
    workerId: Uuid<"wkr">;
  },
  request: CommitWorkspace,
  tree: StoredTree,
): Promise<VersionRow | null> {
  const parentVersionId = decodeId("wsv", request.parent_version_id);
  const blobs = [...new Set([tree.manifestDigest, ...tree.blobs])];
  const ended = (request.ended ?? []).map(toEnded);
  const isUsual = (request.setup_digest ?? null) === null && blobs.length <= MAX_BLOBS;
  if (parentVersionId === null || !isUsual || !ended.every((end) => end !== null)) return null;
  const { environmentId, workspaceId, id: materializationId, workerId, epoch } = place;
  const version = {
    ...{ environmentId, workspaceId, parentVersionId },
    ...{ causeKind: request.cause.kind, causeId: request.cause.id ?? null },
    ...{ digest: Buffer.from(tree.digest, "hex"), manifestDigest: Buffer.from(tree.manifestDigest, "hex") },
    ...{ fileCount: tree.fileCount, sizeBytes: tree.sizeBytes },
    notes: (request.notes ?? null) === null ? null : JSON.stringify(request.notes),
  };
  const versionId = newUuid<"wsv">();
  const commit: LiveCommit = {
    ...version,
    ...{ versionId, materializationId, workerId, epoch, ended, commitId: request.commit_id },
    blobs: blobs.map((digest) => Buffer.from(digest, "hex")),
    now: clock(),
  };
  const made = await insertLiveCommit(db, commit);
  if (made === null) return null;
  wakes.wake(wakeKeys.workspace(workspaceId));
  for (const { id } of ended) wakes.wake(wakeKeys.process(id));
  return { ...version, id: versionId, ...made };
}

/** Null for what has not exited: that is decided under the lock. */
function toEnded(report: NonNullable<CommitWorkspace["ended"]>[number]): EndedProcess | null {
  const kind = report.process_id.startsWith("pty_") ? "pty" : "exec";
  const id = decodeId(kind, report.process_id);
  const exit = exitOf(report);
  return id === null || exit === null ? null : { id, kind, ...exit };
}
