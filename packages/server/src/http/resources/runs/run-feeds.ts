import {
  encodeId,
  isTerminalRunStatus,
  LIMITS,
  sseFrame,
  type RunLogSnapshot,
  type Uuid,
} from "@keelson/contract";
import type { FeedPage } from "../../../core/feeds/feed.ts";
import { wakeKeys } from "../../../core/feeds/wake-keys.ts";
import { listRunEvents } from "../../../core/run-events/run-event-reads.ts";
import { readLogChunks, readLogTail } from "../../../core/run-logs/read-logs.ts";
import { findLogTotals } from "../../../core/run-logs/run-log-reads.ts";
import { findRunStatus } from "../../../core/runs/run-reads.ts";
import { notFound } from "../../../domain-error.ts";
import type { ServerContext } from "../../../server-context.ts";
import { gapFrame } from "../../edge/follow.ts";
import { cursorExpired, pageLimit, sequenceCursor, toPage } from "../../edge/page.ts";
import type { EnvironmentScope, Reply } from "../../edge/route.ts";
import { toRunEvent, toRunLogChunk } from "./feed-wire.ts";
import { readKept } from "./kept-feed.ts";

/** The events and logs of a run, which is known to be there: a page after a cursor, or all as they come. */

/** A page of logs ends with the chunk that reaches this, whatever its limit. */
const LOG_PAGE_BYTES = 1_048_576;

export async function eventPage(
  server: ServerContext,
  scope: EnvironmentScope,
  runId: Uuid<"run">,
  query: { limit?: number; cursor?: string },
): Promise<{ status: 200; body: unknown }> {
  const limit = pageLimit(query.limit);
  const after = sequenceCursor(query.cursor);
  const list = () => listRunEvents(server.db, scope.environmentId, runId, after, limit + 1);
  const { rows: events, earliest } = await readKept(server, scope, runId, "events", after, list);
  if (earliest !== null && after > 0) throw cursorExpired("The events of this run are", earliest);
  const page = toPage(events, limit, (event) => String(event.sequence));
  return {
    status: 200,
    body: { events: page.rows.map((event) => toRunEvent(runId, event)), next_cursor: page.nextCursor },
  };
}

export async function logPage(
  server: ServerContext,
  scope: EnvironmentScope,
  runId: Uuid<"run">,
  query: { limit?: number; cursor?: string },
): Promise<{ status: 200; body: unknown }> {
  const limit = pageLimit(query.limit);
  const after = sequenceCursor(query.cursor);
  const list = () => readLogChunks(server, scope.environmentId, runId, after, limit, LOG_PAGE_BYTES);
  const { rows: chunks, earliest } = await readKept(server, scope, runId, "logs", after, list);
  if (earliest !== null && after > 0) throw cursorExpired("The logs of this run are", earliest);
  if (chunks.length === 0) return { status: 200, body: { logs: [], next_cursor: null } };
  const last = chunks.at(-1)?.sequence ?? after;
  const totals = await findLogTotals(server.db, scope.environmentId, runId);
  const more = totals !== null && totals.logSequence > last;
  return {
    status: 200,
    body: {
      logs: chunks.map((chunk) => toRunLogChunk(runId, chunk)),
      next_cursor: more ? String(last) : null,
    },
  };
}

/** Entries a follower takes in one read; its socket paces the next. */
const EVENTS_PER_READ = 200;
const LOG_CHUNKS_PER_READ = 100;
/** Reading and encoding them holds up everybody else for about a millisecond. */
const LOG_BYTES_PER_READ = 64 * 1024;

type ReadFeed = (after: number) => Promise<{ frames: string[]; cursor: number; full: boolean }>;

/**
 * Follows a feed of a run. The status is read before the entries: the transaction that ends a run writes its last
 * entries too, so an ended run's entries are all there when they are read after its status.
 */
function followRun(
  server: ServerContext,
  scope: EnvironmentScope,
  runId: Uuid<"run">,
  name: string,
  after: number,
  readEntries: ReadFeed,
): Reply {
  const readPage = async (cursor: number): Promise<FeedPage<Buffer>> => {
    const status = await findRunStatus(server.db, scope.environmentId, runId);
    if (status === null) throw notFound();
    const { frames, cursor: next, full } = await readEntries(cursor);
    const ended = isTerminalRunStatus(status) && !full;
    return {
      // Bytes, which all who are at the same place share: text would be encoded for each of them.
      batch: frames.length === 0 ? null : Buffer.from(frames.join("")),
      cursor: next,
      end: ended ? { run_id: encodeId("run", runId), status } : undefined,
    };
  };
  const feed = {
    key: `${name} ${runId}`,
    source: { kind: "run", environmentId: scope.environmentId, id: runId } as const,
    wakeKey: wakeKeys.run(runId),
    read: readPage,
  };
  return { status: 200, events: { feed, after } };
}

const eventReader =
  (server: ServerContext, scope: EnvironmentScope, runId: Uuid<"run">): ReadFeed =>
  async (after) => {
    const list = () => listRunEvents(server.db, scope.environmentId, runId, after, EVENTS_PER_READ);
    const { rows: events, earliest } = await readKept(server, scope, runId, "events", after, list);
    if (earliest !== null) return { frames: [gapFrame(earliest)], cursor: earliest, full: false };
    return {
      frames: events.map((event) =>
        sseFrame("run_event", String(event.sequence), JSON.stringify(toRunEvent(runId, event))),
      ),
      cursor: events.at(-1)?.sequence ?? after,
      full: events.length === EVENTS_PER_READ,
    };
  };

const logReader =
  (server: ServerContext, scope: EnvironmentScope, runId: Uuid<"run">): ReadFeed =>
  async (after) => {
    const list = () =>
      readLogChunks(server, scope.environmentId, runId, after, LOG_CHUNKS_PER_READ, LOG_BYTES_PER_READ);
    const { rows: chunks, earliest } = await readKept(server, scope, runId, "logs", after, list);
    if (earliest !== null) return { frames: [gapFrame(earliest)], cursor: earliest, full: false };
    return {
      frames: chunks.map((chunk) =>
        sseFrame("run_log", String(chunk.sequence), JSON.stringify(toRunLogChunk(runId, chunk))),
      ),
      cursor: chunks.at(-1)?.sequence ?? after,
      // A read may have ended early for its bytes: only an empty one is known to be the last.
      full: chunks.length > 0,
    };
  };

export async function logSnapshot(
  server: ServerContext,
  scope: EnvironmentScope,
  runId: Uuid<"run">,
): Promise<RunLogSnapshot> {
  const totals = await findLogTotals(server.db, scope.environmentId, runId);
  if (totals === null) throw notFound();
  const tail = (stream: "stdout" | "stderr") =>
    readLogTail(server, scope.environmentId, runId, stream, totals.logSequence, LIMITS.snapshotLogBytes);
  const [stdout, stderr] = await Promise.all([tail("stdout"), tail("stderr")]);
  return {
    stdout: stdout.toString("base64"),
    stderr: stderr.toString("base64"),
    stdout_bytes: totals.stdoutBytes,
    stderr_bytes: totals.stderrBytes,
    truncated: stdout.length < totals.stdoutBytes || stderr.length < totals.stderrBytes,
    cursor: String(totals.logSequence),
  };
}

/** Events as they come, after a cursor. */
export const followEvents = (
  server: ServerContext,
  scope: EnvironmentScope,
  runId: Uuid<"run">,
  after: number,
): Reply => followRun(server, scope, runId, "events", after, eventReader(server, scope, runId));

/** Log chunks as they come, after a cursor. */
export const followLogs = (
  server: ServerContext,
  scope: EnvironmentScope,
  runId: Uuid<"run">,
  after: number,
): Reply => followRun(server, scope, runId, "logs", after, logReader(server, scope, runId));
