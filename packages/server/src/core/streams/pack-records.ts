import type { Uuid } from "@keelson/contract";
import { FIRST_UUID } from "../../uuid.ts";
import { mayRemove } from "../blobs/removal-lock-reads.ts";
import { HeldUpError, type ItemContext } from "../loop-failures/failed-items.ts";
import { listFailedItems } from "../loop-failures/loop-failure-reads.ts";
import { processEach } from "../loop-failures/process-items.ts";
import { writeRecordPack } from "./record-pack.ts";
import {
  findPlaceToPack,
  listStreamsToPack,
  mayPackRecords,
  type PackedStream,
} from "./record-pack-reads.ts";
import { movePackedRecords } from "./record-pack-writes.ts";
import { listRecordRows } from "./stream-reads.ts";
import type { RecordRow } from "./stream.ts";

export type PackRecordsContext = ItemContext & {
  /** How old records of output are when they are packed; null: never. */
  packRecordsAfterMs: number | null;
};

/** A pack has so many records, or so many bytes of data. */
const FEWEST = 100;
const FEWEST_BYTES = 128 * 1024;
/** Who reads one record of a pack unpacks it all. */
const MOST = 1_000;
const MOST_BYTES = 256 * 1024;
const STREAMS = 5_000;
const LOOP = "pack-records";

type Packing = PackRecordsContext & { packRecordsAfterMs: number };

/**
 * Puts old records of output streams into packs. A reader sees no difference. Everything can be done again, and by several
 * servers: a pack takes its records out of the rows in the transaction that makes it. While a backup is written, which might
 * find records in both places or in none, they stay where they are.
 */
export async function packRecords(context: PackRecordsContext): Promise<void> {
  const { db, clock, packRecordsAfterMs } = context;
  if (packRecordsAfterMs === null || !(await mayPackRecords(db, clock()))) return;
  if (!(await db.transaction(mayRemove))) return;
  const packing: Packing = { ...context, packRecordsAfterMs };
  try {
    const failed = await listFailedItems<Uuid<"strm">>(db, LOOP);
    await packEach(
      packing,
      failed.map(({ environmentId, itemId }) => ({ environmentId, streamId: itemId })),
    );
    await packAll(packing);
  } catch (error) {
    if (!(error instanceof HeldUpError)) throw error;
  }
}

async function packAll(context: Packing): Promise<void> {
  let after: PackedStream = { environmentId: FIRST_UUID, streamId: FIRST_UUID };
  for (;;) {
    const page = await listStreamsToPack(context.db, after, FEWEST, STREAMS);
    const last = page.at(-1);
    if (last === undefined) return;
    await packEach(
      context,
      page.filter(({ isDue }) => isDue),
    );
    after = last;
  }
}

const packEach = (context: Packing, streams: readonly PackedStream[]): Promise<number> =>
  processEach(
    context,
    LOOP,
    streams,
    ({ environmentId, streamId }) => ({ environmentId, itemId: streamId }),
    async (stream) => {
      while (await packNext(context, stream));
    },
  );

/** @returns whether there may be more to pack. */
async function packNext(context: Packing, stream: PackedStream): Promise<boolean> {
  const place = await findPlaceToPack(context.db, stream);
  if (place === null) return false;
  const records = await readOld(context, stream, place);
  const [first, last] = [records[0], records.at(-1)];
  if (first === undefined || last === undefined) return false;
  const data = await writeRecordPack(records);
  const pack = {
    ...stream,
    packedSequence: place.packedSequence,
    firstSequence: first.sequence,
    lastSequence: last.sequence,
    correlationIds: [...new Set(records.flatMap(({ correlationId }) => correlationId ?? []))],
    data,
  };
  return context.db.transaction(async (tx) => {
    if (!(await mayRemove(tx))) throw new HeldUpError("A backup is being written.");
    const moved = await movePackedRecords(tx, pack);
    if (moved !== null && moved !== records.length)
      throw new Error(`The records of the stream ${stream.streamId} changed while they were packed.`);
    return moved !== null;
  });
}

/** The records of the next pack; none when too few of them are old enough. */
async function readOld(
  { db, clock, packRecordsAfterMs }: Packing,
  { environmentId, streamId }: PackedStream,
  { after, before }: { after: number; before: number },
): Promise<RecordRow[]> {
  const oldest = clock() - packRecordsAfterMs;
  const rows = await listRecordRows(db, {
    ...{ environmentId, streamId, after, correlationId: null, unreceived: false },
    ...{ limit: MOST, maxBytes: MOST_BYTES },
  });
  const young = rows.findIndex(({ sequence, createdAt }) => sequence >= before || createdAt > oldest);
  const old = young === -1 ? rows : rows.slice(0, young);
  const bytes = old.reduce((sum, { data }) => sum + Buffer.byteLength(data), 0);
  return old.length >= FEWEST || bytes >= FEWEST_BYTES ? old : [];
}
