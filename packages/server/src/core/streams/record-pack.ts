import { promisify } from "node:util";
import { constants, zstdCompress, zstdDecompress } from "node:zlib";
import type { RecordRow } from "./stream.ts";

/** Column by column: what is the same in all records takes next to nothing once it is compressed. */
const COLUMNS = [
  ...(["id", "data", "contentType", "correlationId", "sourceKind", "sourceId"] as const),
  ...(["runId", "attemptNumber", "messageId", "createdAt"] as const),
];

/** What only input has. */
const OF_INPUT = { withdrawnAt: null, steer: null };

const FORMAT = 1;

type Packed = { format: number; first: number; columns: unknown[][] };

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/**
 * Records of an output stream as one compressed value. They follow each other without a gap, and none was withdrawn.
 *
 * @throws Error when they do not.
 */
export async function writeRecordPack(records: readonly RecordRow[]): Promise<Buffer> {
  const first = records[0]?.sequence ?? 0;
  if (records.some(({ sequence, withdrawnAt }, index) => sequence !== first + index || withdrawnAt !== null))
    throw new Error("Records of a pack follow each other, and none was withdrawn.");
  const columns = COLUMNS.map((name) => records.map((record) => record[name]));
  const packed: Packed = { format: FORMAT, first, columns };
  return compress(JSON.stringify(packed), { params: { [constants.ZSTD_c_compressionLevel]: 6 } });
}

/** @throws Error when the bytes are no pack. */
export async function readRecordPack(bytes: Buffer): Promise<RecordRow[]> {
  const { format, first, columns } = JSON.parse((await decompress(bytes)).toString()) as Packed;
  if (format !== FORMAT) throw new Error(`The pack of records has the format ${format}, which is not known.`);
  return (columns[0] ?? []).map((_, index) => {
    const record: Record<string, unknown> = { sequence: first + index, ...OF_INPUT };
    for (const [at, name] of COLUMNS.entries()) record[name] = columns[at]?.[index];
    return record as RecordRow;
  });
}
