import { createHash } from "node:crypto";
import type { LogStream, Uuid } from "@keelson/contract";
import type { Database } from "../../db/pool.ts";
import type { BlobStore } from "../blobs/blob.ts";
import { readLogPack } from "./log-pack.ts";
import { findLogPackAfter, findLogPackBefore, type LogPackRow } from "./log-pack-reads.ts";
import { listLogChunks, listTailChunks, type LogChunkRow } from "./run-log-reads.ts";

export type LogContext = { db: Database; workspaceBlobs: (environmentId: Uuid<"env">) => BlobStore };

/**
 * Chunks after the cursor, oldest first, in rows or in a pack: at most `limit`, and no more after the one that reaches
 * `maxBytes`. A page ends with its pack; only an empty one is known to be the last. Rows are looked at first: what they
 * no longer have when they are read, a pack has when it is looked for after that.
 */
export async function readLogChunks(
  context: LogContext,
  environmentId: Uuid<"env">,
  runId: Uuid<"run">,
  after: number,
  limit: number,
  maxBytes: number,
): Promise<LogChunkRow[]> {
  const rows = await listLogChunks(context.db, environmentId, runId, after, limit, maxBytes);
  if (rows[0]?.sequence === after + 1) return rows;
  const pack = await findLogPackAfter(context.db, environmentId, runId, after);
  if (pack === null) return rows;
  const page: LogChunkRow[] = [];
  let bytes = 0;
  for (const chunk of await openPack(context, environmentId, pack)) {
    if (chunk.sequence <= after) continue;
    if (page.length === limit || bytes >= maxBytes) break;
    page.push(chunk);
    bytes += chunk.data.length;
  }
  return page;
}

/** The last `bytes` bytes of one stream up to chunk `upTo`, read from the end: first rows, then packs. */
export async function readLogTail(
  context: LogContext,
  environmentId: Uuid<"env">,
  runId: Uuid<"run">,
  stream: LogStream,
  upTo: number,
  bytes: number,
): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  let before = upTo + 1;
  const take = (chunk: { sequence: number; data: Buffer }): void => {
    if (size >= bytes) return;
    parts.unshift(chunk.data);
    size += chunk.data.length;
    before = chunk.sequence;
  };
  for (;;) {
    const { rows, isLast } = await listTailChunks(context.db, environmentId, runId, stream, before);
    for (const row of rows) take(row);
    if (isLast || size >= bytes) break;
  }
  for (;;) {
    if (size >= bytes) break;
    const pack = await findLogPackBefore(context.db, environmentId, runId, before);
    if (pack === null) break;
    const chunks = await openPack(context, environmentId, pack);
    for (const chunk of chunks.toReversed())
      if (chunk.stream === stream && chunk.sequence < before) take(chunk);
    before = Math.min(before, pack.firstSequence);
  }
  const all = Buffer.concat(parts);
  return all.length > bytes ? all.subarray(all.length - bytes) : all;
}

async function openPack(
  { workspaceBlobs }: LogContext,
  environmentId: Uuid<"env">,
  { digest }: LogPackRow,
): Promise<LogChunkRow[]> {
  const name = digest.toString("hex");
  const bytes = await workspaceBlobs(environmentId).load(name);
  if (bytes === null) throw new Error(`The blob ${name} of packed logs is missing.`);
  if (!createHash("sha256").update(bytes).digest().equals(digest))
    throw new Error(`The blob ${name} of packed logs is damaged.`);
  return readLogPack(bytes);
}
