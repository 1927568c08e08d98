import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { findRecordPack } from "./record-pack-reads.ts";
import { readRecordPack } from "./record-pack.ts";
import { listRecordRows, readRecordRows, type RecordPage, type RecordRange } from "./stream-reads.ts";
import type { RecordRow } from "./stream.ts";

// Rows are looked at first: what they no longer have when they are read, a pack has when it is looked for after that.

/** Records of one stream, oldest first, within the range's limits. */
export async function listRecords(db: Queryable, range: RecordRange): Promise<RecordRow[]> {
  const rows = await listRecordRows(db, range);
  return rows[0]?.sequence === range.after + 1 ? rows : (await addPacked(db, range, rows)).records;
}

/** Records with the state of their session, as of one moment. Null when there is no such session. */
export async function readRecords(
  db: Queryable,
  sessionId: Uuid<"sess">,
  range: RecordRange,
): Promise<RecordPage | null> {
  const page = await readRecordRows(db, sessionId, range);
  if (page === null || !page.isPacked) return page;
  const { records, isCut } = await addPacked(db, range, page.records);
  return { ...page, records, isCut: isCut || page.isCut };
}

/** Puts what is in packs before the rows that come after it. `isCut`: not everything fitted into the bytes. */
async function addPacked(
  db: Queryable,
  range: RecordRange,
  rows: readonly RecordRow[],
): Promise<{ records: RecordRow[]; isCut: boolean }> {
  const records: RecordRow[] = [];
  let bytes = 0;
  /** @returns false when the page is full. */
  const add = (found: readonly RecordRow[]): boolean => {
    for (const record of found) {
      if (record.sequence <= (records.at(-1)?.sequence ?? range.after)) continue;
      bytes += Buffer.byteLength(record.data);
      if (records.length === range.limit || (records.length > 0 && bytes > range.maxBytes)) return false;
      records.push(record);
    }
    return true;
  };
  let isWhole = true;
  for (let after = range.after; isWhole;) {
    const pack = await findRecordPack(db, range, after);
    if (pack === null) break;
    isWhole = add(await openPack(pack.data, range.correlationId));
    after = pack.lastSequence;
  }
  if (isWhole) isWhole = add(rows);
  return { records, isCut: !isWhole && records.length < range.limit };
}

async function openPack(data: Buffer, correlationId: string | null): Promise<RecordRow[]> {
  const records = await readRecordPack(data);
  return correlationId === null
    ? records
    : records.filter((record) => record.correlationId === correlationId);
}
