import { encodeId, sseFrame, type Uuid } from "@keelson/contract";
import type { FeedPage } from "../../../core/feeds/feed.ts";
import { wakeKeys } from "../../../core/feeds/wake-keys.ts";
import {
  findProcess,
  listOutputs,
  type OutputRow,
  type ProcessKey,
  type ProcessRow,
  type StoredStream,
} from "../../../core/processes/process-reads.ts";
import { isOver } from "../../../core/processes/processes.ts";
import { notFound } from "../../../domain-error.ts";
import type { ServerContext } from "../../../server-context.ts";
import type { Reply } from "../../edge/route.ts";
import { toOutputChunk } from "./wire.ts";

/** What a follower is given at a time. */
const FOLLOW_BYTES = 128 * 1024;
const FOLLOW_CHUNKS = 100;

type StoredOutput = OutputRow & { stream: StoredStream };

const feedKey = (processId: Uuid<"exec" | "pty">, stream: StoredStream): string =>
  `output ${processId} ${stream}`;

export const firstOf = (row: ProcessRow, stream: StoredStream): number =>
  stream === "stdout" ? row.stdoutFirst : row.stderrFirst;
export const bytesOf = (row: ProcessRow, stream: StoredStream): number =>
  stream === "stdout" ? row.stdoutBytes : row.stderrBytes;

/**
 * Follows an output. The state is read beside the bytes: somebody waits for them, and the state says how many there are, so
 * that bytes that were read before an end are not taken for all.
 */
export function followOutput(
  server: ServerContext,
  key: ProcessKey,
  stream: StoredStream,
  from: number,
): Reply {
  const readPage = async (cursor: number): Promise<FeedPage<string>> => {
    const read = (after: number): Promise<OutputRow[]> =>
      listOutputs(server.db, key, stream, after, FOLLOW_CHUNKS, FOLLOW_BYTES);
    const [process, beside] = await Promise.all([findProcess(server.db, key), read(cursor)]);
    if (process === null) throw notFound();
    const earliest = firstOf(process, stream);
    const after = Math.max(cursor, earliest);
    const gap =
      cursor < earliest
        ? sseFrame("gap", String(earliest), JSON.stringify({ earliest_cursor: String(earliest) }))
        : "";
    const chunks = after === cursor ? beside : await read(after);
    const last = chunks.at(-1);
    const next = last === undefined ? after : last.position + last.data.length;
    const ended = isOver(process.status) && next >= bytesOf(process, stream);
    return {
      batch: chunks.length === 0 && gap === "" ? null : gap + toFrames(chunks),
      cursor: next,
      end: ended ? endState(process) : undefined,
    };
  };
  const feed = {
    key: feedKey(key.id, stream),
    source: { kind: "process", environmentId: key.environmentId, id: key.id } as const,
    wakeKey: wakeKeys.process(key.id),
    read: readPage,
  };
  return { status: 200, events: { feed, after: from } };
}

const endState = (row: ProcessRow): object => ({
  id: encodeId(row.kind, row.id),
  status: row.status,
  exit_code: row.exitCode,
  signal: row.signal,
});

const toFrames = (rows: readonly OutputRow[]): string =>
  rows
    .map((row) =>
      sseFrame("chunk", String(row.position + row.data.length), JSON.stringify(toOutputChunk(row))),
    )
    .join("");

/**
 * Gives output that was just stored to the followers that have everything before it, without a read. More than one read
 * would give is left to be read. What follows from the process's state is read with the wake that comes after this.
 */
export function offerOutput(
  { feeds }: ServerContext,
  processId: Uuid<"exec" | "pty">,
  stored: readonly StoredOutput[],
): void {
  for (const stream of ["stdout", "stderr"] as const) {
    const rows = stored.filter((output) => output.stream === stream);
    const [first, last] = [rows[0], rows.at(-1)];
    if (first === undefined || last === undefined) continue;
    if (rows.length > FOLLOW_CHUNKS || rows.reduce((sum, { data }) => sum + data.length, 0) > FOLLOW_BYTES)
      continue;
    feeds.offer(feedKey(processId, stream), first.position, last.position + last.data.length, () =>
      toFrames(rows),
    );
  }
}
