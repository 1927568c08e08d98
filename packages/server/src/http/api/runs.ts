import {
  isTerminalRunStatus,
  LIMITS,
  Run,
  RunCounts,
  RunLogSnapshot,
  SequenceCursor,
  sseFrame,
} from "@keelson/contract";
import { Type } from "typebox";
import type { FeedPage } from "../../core/feeds/feed.ts";
import { wakeKeys } from "../../core/feeds/wakes.ts";
import { listRunEvents } from "../../core/run-events/run-event-reads.ts";
import { readLogChunks, readLogTail } from "../../core/run-logs/read-logs.ts";
import { findLogTotals } from "../../core/run-logs/run-log-reads.ts";
import { findRunStatus } from "../../core/runs/run-reads.ts";
import { encodeId } from "@keelson/contract";
import { notFound } from "../../domain-error.ts";
import type { ServerContext } from "../../server-context.ts";
import { gapFrame, readKept } from "../kept-feed.ts";
import { followCursor, wantsEventStream } from "../follow.ts";
import { route, type EnvironmentScope, type Reply, type Route } from "../route.ts";
import {
  answerRunCancel,
  answerRunCounts,
  answerRunEventPage,
  answerRunItem,
  answerRunList,
  FeedPageQuery,
  requireRun,
  RunEventPage,
  RunList,
  RunListQuery,
  RunParams,
} from "../run-routes.ts";
import { toRunEvent, toRunLogChunk } from "../wire/run-feeds.ts";

const read = { kind: "environment", permission: "runs.read" } as const;
const Follow = Type.Optional(Type.Enum(["0", "1"], { description: "1: stream as server-sent events." }));

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
  runId: string,
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
    wakeKey: wakeKeys.run(runId),
    read: readPage,
  };
  return { status: 200, events: { feed, after } };
}

const eventReader =
  (server: ServerContext, scope: EnvironmentScope, runId: string): ReadFeed =>
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
  (server: ServerContext, scope: EnvironmentScope, runId: string): ReadFeed =>
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

async function logSnapshot(
  server: ServerContext,
  scope: EnvironmentScope,
  runId: string,
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

export const apiRunRoutes: Route[] = [
  route({
    family: "api",
    method: "GET",
    path: "/api/runs",
    operationId: "apiListRuns",
    summary: "List runs",
    description: "Newest first. Filters narrow the list together.",
    tag: "Runs",
    access: read,
    query: RunListQuery,
    responses: { 200: { description: "A page of runs.", schema: RunList } },
    handle: ({ server, scope, query }) => answerRunList(server, scope, query),
  }),
  route({
    family: "api",
    method: "GET",
    path: "/api/runs/counts",
    operationId: "apiCountRuns",
    summary: "Count runs by status",
    description: "Kept with every transition, so it costs the same whatever the history.",
    tag: "Runs",
    access: read,
    responses: { 200: { description: "Runs by status.", schema: RunCounts } },
    handle: ({ server, scope }) => answerRunCounts(server, scope),
  }),
  route({
    family: "api",
    method: "GET",
    path: "/api/runs/:id",
    operationId: "apiGetRun",
    summary: "Get a run",
    description: "`status_reason` says why a live run is not running.",
    tag: "Runs",
    access: read,
    params: RunParams,
    responses: { 200: { description: "The run.", schema: Run } },
    handle: ({ server, scope, params }) => answerRunItem(server, scope, params),
  }),
  route({
    family: "api",
    method: "POST",
    path: "/api/runs/:id/cancel",
    operationId: "apiCancelRun",
    summary: "Cancel a run",
    description: "As on /v1: asks a running run to stop and ends its process after a grace of 10 s.",
    tag: "Runs",
    access: { kind: "environment", permission: "runs.cancel" },
    params: RunParams,
    responses: { 200: { description: "The run as it is now.", schema: Run } },
    handle: ({ server, scope, params }) => answerRunCancel(server, scope, params),
  }),
  route({
    family: "api",
    method: "GET",
    path: "/api/runs/:id/events",
    operationId: "apiListRunEvents",
    summary: "List or follow a run's events",
    description:
      "A page after `cursor`; with `follow=1` or `Accept: text/event-stream` a stream of `run_event`, whose ids are the run event cursor. " +
      "Continue with `Last-Event-ID` or `cursor`; the stream ends with `end` and the final status.",
    tag: "Runs",
    access: read,
    params: RunParams,
    query: Type.Object({ ...FeedPageQuery, follow: Follow }, { additionalProperties: false }),
    responses: { 200: { description: "A page of events, or a stream.", schema: RunEventPage } },
    handle: async ({ server, scope, params, query, request }) => {
      if (!wantsEventStream(request, query.follow)) return answerRunEventPage(server, scope, params, query);
      const { runId } = await requireRun(server, scope, params);
      return followRun(
        server,
        scope,
        runId,
        "events",
        followCursor(request, query.cursor),
        eventReader(server, scope, runId),
      );
    },
  }),
  route({
    family: "api",
    method: "GET",
    path: "/api/runs/:id/logs",
    operationId: "apiGetRunLogs",
    summary: "Get or follow a run's logs",
    description:
      "The last 256 KiB of stdout and stderr with the run-wide log cursor; with `follow=1` or `Accept: text/event-stream` a stream of `run_log` " +
      "after the cursor. Continue with `Last-Event-ID` or `cursor`; the stream ends with `end` and the final status.",
    tag: "Runs",
    access: read,
    params: RunParams,
    query: Type.Object(
      { cursor: Type.Optional(SequenceCursor), follow: Follow },
      { additionalProperties: false },
    ),
    responses: { 200: { description: "A snapshot, or a stream.", schema: RunLogSnapshot } },
    handle: async ({ server, scope, params, query, request }) => {
      const { runId } = await requireRun(server, scope, params);
      if (!wantsEventStream(request, query.follow))
        return { status: 200, body: await logSnapshot(server, scope, runId) };
      return followRun(
        server,
        scope,
        runId,
        "logs",
        followCursor(request, query.cursor),
        logReader(server, scope, runId),
      );
    },
  }),
];
