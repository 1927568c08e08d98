import { createHash } from "node:crypto";
import type { Uuid } from "@keelson/contract";
import type { NewUuid } from "../../uuid.ts";
import { mayRemove } from "../blobs/removal-lock-reads.ts";
import { blobSink, type BlobContext } from "../blobs/store-blob.ts";
import { HeldUpError, type ItemContext } from "../loop-failures/failed-items.ts";
import type { LoopItem } from "../loop-failures/loop-failure.ts";
import { listFailedItems } from "../loop-failures/loop-failure-reads.ts";
import { processEach } from "../loop-failures/process-items.ts";
import { writeLogPack } from "./log-pack.ts";
import { listRunsToPack } from "./log-pack-reads.ts";
import {
  advancePacking,
  claimPacking,
  deletePackedChunks,
  insertLogPack,
  releasePacking,
} from "./log-pack-writes.ts";
import { listLogChunks } from "./run-log-reads.ts";

export type PackContext = BlobContext &
  ItemContext & {
    newUuid: NewUuid;
    /** How long after its end a run's logs stay rows; null: for ever. */
    packLogsAfterMs: number | null;
  };

/** What a pack holds before it is compressed: a page of logs at most, so that no page reads much more than it shows. */
const PACK_BYTES = 1024 * 1024;
const PACK_CHUNKS = 5_000;
const RUNS = 50;
const LOOP = "pack-logs";
const CLAIM_MS = 5 * 60_000;

/**
 * Puts the logs of runs that ended a while ago into blobs. Everything can be done again: a blob that no pack names is
 * collected, and a pack takes its chunks out of the rows in the transaction that makes it. While a backup is written, which
 * might find the chunks in both places or in none, they stay where they are.
 */
export async function packLogs(context: PackContext, packBytes: number = PACK_BYTES): Promise<void> {
  const { db, newUuid, packLogsAfterMs } = context;
  if (packLogsAfterMs === null || !(await db.transaction(mayRemove))) return;
  const claimId = newUuid();
  try {
    await packWhileClaimed({ ...context, packLogsAfterMs }, claimId, packBytes);
  } catch (error) {
    if (!(error instanceof HeldUpError)) throw error;
  }
  await releasePacking(db, claimId);
}

async function packWhileClaimed(
  context: PackContext & { packLogsAfterMs: number },
  claimId: string,
  packBytes: number,
): Promise<void> {
  const { db, clock, packLogsAfterMs } = context;
  const claim = (): Promise<boolean> => claimPacking(db, claimId, clock(), clock() + CLAIM_MS);
  const pack = (runs: readonly LoopItem<Uuid<"run">>[]): Promise<number> =>
    processEach(
      context,
      LOOP,
      runs,
      (run) => run,
      ({ environmentId, itemId: runId }) => packRun(context, environmentId, runId, packBytes),
    );
  // Packing goes on behind those that failed: they are retried beside it.
  if (await claim()) await pack(await listFailedItems<Uuid<"run">>(db, LOOP));
  while (await claim()) {
    const runs = await listRunsToPack(db, clock() - packLogsAfterMs, RUNS);
    await pack(runs.map(({ environmentId, runId }) => ({ environmentId, itemId: runId })));
    const last = runs.at(-1);
    if (last !== undefined) await advancePacking(db, last.environmentId, last.runId);
    if (runs.length < RUNS) break;
  }
}

async function packRun(
  context: PackContext,
  environmentId: Uuid<"env">,
  runId: Uuid<"run">,
  packBytes: number,
): Promise<void> {
  for (;;) {
    const chunks = await listLogChunks(context.db, environmentId, runId, 0, PACK_CHUNKS, packBytes);
    const [first] = chunks;
    const last = chunks.at(-1);
    if (first === undefined || last === undefined) return;
    const bytes = await writeLogPack(chunks);
    const digest = createHash("sha256").update(bytes).digest();
    await blobSink(context, environmentId).put(digest.toString("hex"), bytes);
    const pack = {
      environmentId,
      runId,
      firstSequence: first.sequence,
      lastSequence: last.sequence,
      digest,
    };
    await context.db.transaction(async (tx) => {
      if (!(await mayRemove(tx))) throw new HeldUpError("A backup is being written.");
      const gone = await deletePackedChunks(tx, pack);
      // Another server was faster, or the logs were dropped: the rows that are left say how to go on.
      if (gone === 0) return;
      if (gone !== chunks.length)
        throw new Error(`The logs of the run ${runId} changed while they were packed.`);
      if (!(await insertLogPack(tx, pack)))
        throw new Error(
          `The pack of the run ${runId} is just being removed as unneeded; it is made again later.`,
        );
    });
  }
}
