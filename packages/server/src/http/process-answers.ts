import {
  decodeId,
  encodeId,
  HEADERS,
  LIMITS,
  sseFrame,
  type CreateExec,
  type CreatePty,
  type ExecStdin,
} from "@keelson/contract";
import { wakeKeys } from "../core/feeds/wakes.ts";
import type { FeedPage } from "../core/feeds/follow-feed.ts";
import { idempotencyExpiry } from "../core/idempotency/idempotency-expiry.ts";
import { withIdempotency } from "../core/idempotency/with-idempotency.ts";
import { controlProcess } from "../core/processes/control-process.ts";
import { checkCwd, commandText, decodeBase64, processTimeoutMs } from "../core/processes/exec-request.ts";
import { createProcess } from "../core/processes/create-process.ts";
import { isOver, type NewControl, type ProcessKind } from "../core/processes/processes.ts";
import {
  findProcess,
  listOutputs,
  listProcesses,
  type ProcessKey,
  type ProcessRow,
  type StoredStream,
} from "../core/processes/process-reads.ts";
import { sendInput } from "../core/processes/send-input.ts";
import { requireWorkspace } from "../core/workspaces/require-workspace.ts";
import { DomainError, notFound } from "../domain-error.ts";
import type { ServerContext } from "../server-context.ts";
import { feedFrames, wantsEventStream } from "./follow.ts";
import { decodeCursor, encodeCursor, pageLimit, toPage } from "./page.ts";
import type { EnvironmentScope, Reply, RequestFacts } from "./route.ts";
import { toExec, toOutputChunk, toPty } from "./wire/process.ts";
import { workspaceIdOf } from "./workspace-answers.ts";

/** What the exec and PTY routes answer. */

/** A page of output ends with the chunk that reaches this, and a follower is given as much at a time. */
const OUTPUT_PAGE_BYTES = 1024 * 1024;
const FOLLOW_BYTES = 128 * 1024;
const FOLLOW_CHUNKS = 100;

const shown = (row: ProcessRow): object => (row.kind === "exec" ? toExec(row) : toPty(row));
const LISTS = { exec: "execs", pty: "ptys" } as const;

/** The process of a path; a malformed id tells no more than an absent one. */
export function processKeyOf(
  scope: EnvironmentScope,
  workspaceText: string,
  kind: ProcessKind,
  text: string,
): ProcessKey {
  const workspaceId = workspaceIdOf(workspaceText);
  const id = decodeId(kind, text);
  if (id === null) throw notFound();
  return { environmentId: scope.environmentId, workspaceId, kind, id };
}

export async function requireProcess(server: ServerContext, key: ProcessKey): Promise<ProcessRow> {
  const process = await findProcess(server.db, key);
  if (process === null) throw notFound();
  return process;
}

export type ProcessRequest = { kind: "exec"; body: CreateExec } | { kind: "pty"; body: CreatePty };

/** @returns the created process's id as well, for who waits for its end. */
export async function createOne(
  server: ServerContext,
  scope: EnvironmentScope,
  workspaceId: string,
  request: ProcessRequest,
  facts: RequestFacts,
  maxTimeoutMs?: number,
): Promise<{ reply: Reply; id: string }> {
  const { environmentId } = scope;
  const { kind, body } = request;
  const now = server.clock();
  const cwd = checkCwd(body.cwd ?? "");
  const isExec = kind === "exec";
  const creation = {
    environmentId,
    workspaceId,
    kind,
    command: body.command === undefined ? null : commandText(body.command),
    cwd,
    env: body.env ?? {},
    timeoutMs: isExec ? processTimeoutMs(request.body.timeout, maxTimeoutMs) : null,
    cols: isExec ? null : (request.body.cols ?? 80),
    rows: isExec ? null : (request.body.rows ?? 24),
    input: isExec && request.body.stdin !== undefined ? decodeBase64("stdin", request.body.stdin) : null,
    createdAt: now,
  };
  const expiresAt = idempotencyExpiry(body.idempotency_key_ttl, now);
  const operation = `${LISTS[kind]}.create ${workspaceId}`;
  const keyed = { environmentId, scope: operation, key: facts.idempotencyKey, body, expiresAt, now };
  let workerId: string | null = null;
  const answer = await server.db.transaction((tx) =>
    withIdempotency(tx, keyed, async () => {
      const created = await createProcess(tx, server.newUuid, creation);
      workerId = created.workerId;
      return { status: 201, body: JSON.stringify(shown(created.process)) };
    }),
  );
  if (workerId !== null) server.wakes.wake(wakeKeys.workerWorkspaces(workerId));
  else server.wakes.wake(wakeKeys.workspaceWork(scope.workerGroupId));
  const headers = answer.replayed ? { headers: { [HEADERS.idempotencyReplayed]: "true" } } : {};
  const { id } = JSON.parse(answer.body) as { id: string };
  return {
    reply: { status: answer.status, json: answer.body, ...headers },
    id: decodeId(kind, id) as string,
  };
}

export async function answerProcessList(
  server: ServerContext,
  scope: EnvironmentScope,
  workspaceId: string,
  kind: ProcessKind,
  query: { limit?: number; cursor?: string },
): Promise<Reply> {
  const { environmentId } = scope;
  await requireWorkspace(server.db, environmentId, workspaceId);
  const limit = pageLimit(query.limit);
  const list = `${LISTS[kind]} ${workspaceId}`;
  const before = decodeCursor(list, environmentId, query.cursor);
  const rows = await listProcesses(server.db, { environmentId, workspaceId, kind }, before, limit + 1);
  const page = toPage(rows, limit, (row) => encodeCursor(list, environmentId, row.id));
  return { status: 200, body: { [LISTS[kind]]: page.rows.map(shown), next_cursor: page.nextCursor } };
}

export const answerProcess = async (server: ServerContext, key: ProcessKey): Promise<Reply> => ({
  status: 200,
  body: shown(await requireProcess(server, key)),
});

/** Input as raw bytes, or as JSON with base64. */
async function inputOf(body: unknown): Promise<{ data: Buffer; offset: number | null }> {
  const isBytes = typeof body === "object" && body !== null && Symbol.asyncIterator in body;
  const json = body as ExecStdin;
  const data = isBytes
    ? await collect(body as AsyncIterable<Uint8Array>)
    : body === undefined || body === null
      ? Buffer.alloc(0)
      : decodeBase64("data", json.data);
  if (data.length > LIMITS.processInputBytes) throw tooMuchInput();
  return { data, offset: isBytes ? null : (json?.offset ?? null) };
}

const tooMuchInput = (): DomainError =>
  new DomainError("payload_too_large", `Send at most ${LIMITS.processInputBytes} bytes at once.`, {
    limit_bytes: LIMITS.processInputBytes,
  });

async function collect(bytes: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of bytes) {
    length += part.byteLength;
    if (length > LIMITS.processInputBytes) throw tooMuchInput();
    parts.push(part);
  }
  return Buffer.concat(parts);
}

export async function answerInput(server: ServerContext, key: ProcessKey, body: unknown): Promise<Reply> {
  const input = body === "close" ? "close" : await inputOf(body);
  const { offset, workerId } = await server.db.transaction((tx) => sendInput(tx, key, input, server.clock()));
  if (workerId !== null) server.wakes.wake(wakeKeys.workerWorkspaces(workerId));
  return { status: 200, body: { offset } };
}

export async function answerControl(
  server: ServerContext,
  key: ProcessKey,
  control: NewControl,
): Promise<Reply> {
  const { workerId } = await server.db.transaction((tx) => controlProcess(tx, key, control, server.clock()));
  server.wakes.wake(wakeKeys.process(key.id));
  if (workerId !== null) server.wakes.wake(wakeKeys.workerWorkspaces(workerId));
  return answerProcess(server, key);
}

/** A byte offset; 0 or absent begins at the earliest that is kept. */
function byteCursor(cursor: string | null | undefined): number {
  if (cursor === null || cursor === undefined) return 0;
  if (!/^[0-9]{1,15}$/.test(cursor))
    throw new DomainError("invalid_cursor", "The cursor is a byte offset; 0 begins at the start.");
  return Number(cursor);
}

const firstOf = (row: ProcessRow, stream: StoredStream): number =>
  stream === "stdout" ? row.stdoutFirst : row.stderrFirst;
const bytesOf = (row: ProcessRow, stream: StoredStream): number =>
  stream === "stdout" ? row.stdoutBytes : row.stderrBytes;

export async function answerOutput(
  server: ServerContext,
  key: ProcessKey,
  stream: StoredStream,
  query: { limit?: number; cursor?: string; follow?: "0" | "1" },
  request: RequestFacts,
): Promise<Reply> {
  const process = await requireProcess(server, key);
  if (wantsEventStream(request, query.follow))
    return followOutput(server, key, stream, byteCursor(request.lastEventId ?? query.cursor), request.signal);
  const asked = byteCursor(query.cursor);
  const earliest = firstOf(process, stream);
  if (asked > 0 && asked < earliest) {
    throw new DomainError("cursor_expired", "Output before the earliest cursor is no longer kept.", {
      earliest_cursor: String(earliest),
    });
  }
  const after = Math.max(asked, earliest);
  const chunks = await listOutputs(
    server.db,
    process,
    stream,
    after,
    pageLimit(query.limit),
    OUTPUT_PAGE_BYTES,
  );
  const last = chunks.at(-1);
  const end =
    last === undefined ? Math.min(after, bytesOf(process, stream)) : last.position + last.data.length;
  const ended = isOver(process.status) && end >= bytesOf(process, stream);
  const body = {
    chunks: chunks.map(toOutputChunk),
    next_cursor: ended ? null : String(Math.max(end, asked)),
    ended,
  };
  return { status: 200, body };
}

/**
 * Follows an output. The state is read before the bytes: the worker sends all output before the end, so an ended process's
 * output is all there when it is read after its state.
 */
function followOutput(
  server: ServerContext,
  key: ProcessKey,
  stream: StoredStream,
  from: number,
  signal: AbortSignal,
): Reply {
  const readPage = async (cursor: number): Promise<FeedPage<string>> => {
    const process = await requireProcess(server, key);
    const earliest = firstOf(process, stream);
    const after = Math.max(cursor, earliest);
    const gap =
      cursor < earliest
        ? sseFrame("gap", String(earliest), JSON.stringify({ earliest_cursor: String(earliest) }))
        : "";
    const chunks = await listOutputs(server.db, process, stream, after, FOLLOW_CHUNKS, FOLLOW_BYTES);
    const frames = chunks.map((row) =>
      sseFrame("chunk", String(row.position + row.data.length), JSON.stringify(toOutputChunk(row))),
    );
    const last = chunks.at(-1);
    const next = last === undefined ? after : last.position + last.data.length;
    const ended = isOver(process.status) && next >= bytesOf(process, stream);
    return {
      batch: frames.length === 0 && gap === "" ? null : gap + frames.join(""),
      cursor: next,
      end: ended ? endState(process) : undefined,
    };
  };
  const feed = {
    wakeKey: wakeKeys.process(key.id),
    read: (cursor: number) =>
      server.shareFeedRead(`output ${key.id} ${stream} ${cursor}`, () => readPage(cursor)),
  };
  return { status: 200, events: feedFrames(server.wakes, feed, from, signal) };
}

const endState = (row: ProcessRow): object => ({
  id: encodeId(row.kind, row.id),
  status: row.status,
  exit_code: row.exitCode,
  signal: row.signal,
});
