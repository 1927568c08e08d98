import { LIMITS, type CreateExec, type CreatePty, type ExecStdin, type Uuid } from "@keelson/contract";
import { wakeKeys } from "../../../core/feeds/wake-keys.ts";
import { controlProcess } from "../../../core/processes/control-process.ts";
import {
  checkCwd,
  commandText,
  decodeBase64,
  processTimeoutMs,
} from "../../../core/processes/exec-request.ts";
import { requestProcess, requestWithWorkspace } from "../../../core/materializations/request-process.ts";
import {
  createLiveProcess,
  type CreatedProcess,
  type ProcessCreation,
} from "../../../core/processes/create-process.ts";
import { isOver, type NewControl } from "../../../core/processes/processes.ts";
import {
  findProcess,
  listOutputs,
  type ProcessKey,
  type ProcessRow,
  type StoredStream,
} from "../../../core/processes/process-reads.ts";
import { takeInput } from "../../../core/processes/take-input.ts";
import type { Queryable, Tx } from "../../../db/queryable.ts";
import { DomainError, notFound } from "../../../domain-error.ts";
import type { ServerContext } from "../../../server-context.ts";
import { wantsEventStream } from "../../edge/follow.ts";
import { pageLimit } from "../../edge/page.ts";
import { keepReply } from "../../edge/keep-reply.ts";
import type { EnvironmentScope, KeptReply, Reply, RequestFacts } from "../../edge/route.ts";
import { bytesOf, firstOf, followOutput } from "./follow-output.ts";
import { toExec, toOutputChunk, toPty } from "./wire.ts";

/** A page of output ends with the chunk that reaches this. */
const OUTPUT_PAGE_BYTES = 1024 * 1024;

export const shown = (row: ProcessRow): object => (row.kind === "exec" ? toExec(row) : toPty(row));
/** How lists and keys of a kind are called. */
const LISTS = { exec: "execs", pty: "ptys" } as const;

export async function requireProcess(db: Queryable, key: ProcessKey): Promise<ProcessRow> {
  const process = await findProcess(db, key);
  if (process === null) throw notFound();
  return process;
}

export type ProcessRequest = { kind: "exec"; body: CreateExec } | { kind: "pty"; body: CreatePty };

/** What may run again has all of its input from the beginning; null: it comes later. */
function wholeInputOf({ stdin, on_lost: onLost }: CreateExec): Buffer | null {
  if (stdin !== undefined) return decodeBase64("stdin", stdin);
  return onLost === "rerun" ? Buffer.alloc(0) : null;
}

/** Creates a process once a key; a repeat gets the first one. */
export async function createKeptProcess(
  call: { server: ServerContext; scope: EnvironmentScope; body: unknown; request: RequestFacts },
  workspaceId: Uuid<"ws">,
  request: ProcessRequest,
  maxTimeoutMs?: number,
): Promise<KeptReply> {
  const { server, scope } = call;
  const creation = toCreation(scope, workspaceId, request, server.clock(), maxTimeoutMs);
  const key = { operation: `${LISTS[request.kind]}.create ${workspaceId}`, content: request.body };
  const givenTo = server.workspacePolls.takerOf(workspaceId);
  const isKeyed = call.request.idempotencyKey !== null;
  const inLive = isKeyed ? null : await createLiveProcess(server.db, server.newUuid, creation, givenTo);
  if (inLive !== null) {
    giveToWorker(server, inLive);
    return { status: 201, json: JSON.stringify(shown(inLive.process)), headers: {}, replayed: false };
  }
  const created: CreatedProcess[] = [];
  const kept = await keepReply(call, key, async (tx) => {
    const made = isKeyed
      ? await requestProcess(tx, server.newUuid, scope.workerGroupId, creation, givenTo)
      : await requestWithWorkspace(tx, server.newUuid, scope.workerGroupId, creation);
    created.push(made);
    return { status: 201, body: shown(made.process) };
  });
  // The transaction may have been run again; what it did last is durable.
  const durable = kept.replayed ? undefined : created.at(-1);
  if (durable !== undefined) giveToWorker(server, durable);
  return kept;
}

/** Gives a stored process to the worker that has its workspace live: to the poll that waits here, or by a word to other servers. */
function giveToWorker({ workspacePolls, wakes }: ServerContext, { process, live }: CreatedProcess): void {
  if (live === null) return;
  workspacePolls.give(live.workerId, { ...process, liveIn: live.materializationId });
  wakes.wake(wakeKeys.workerWorkspaces(live.workerId));
}

function toCreation(
  { environmentId }: EnvironmentScope,
  workspaceId: Uuid<"ws">,
  request: ProcessRequest,
  now: number,
  maxTimeoutMs?: number,
): ProcessCreation {
  const { kind, body } = request;
  const isExec = kind === "exec";
  return {
    environmentId,
    workspaceId,
    kind,
    command: body.command === undefined ? null : commandText(body.command),
    cwd: checkCwd(body.cwd ?? ""),
    env: body.env ?? {},
    timeoutMs: isExec ? processTimeoutMs(request.body.timeout, maxTimeoutMs) : null,
    cols: isExec ? null : (request.body.cols ?? 80),
    rows: isExec ? null : (request.body.rows ?? 24),
    input: isExec ? wholeInputOf(request.body) : null,
    onLost: (isExec ? request.body.on_lost : undefined) ?? "reject",
    runId: null,
    createdAt: now,
  };
}

export const processReply = async (db: Queryable, key: ProcessKey): Promise<Reply> => ({
  status: 200,
  body: shown(await requireProcess(db, key)),
});

type ProcessInput = { data: Buffer; offset: number | null };

/** Input as raw bytes, or as JSON with base64. */
export async function inputOf(body: unknown): Promise<ProcessInput> {
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

type KeyedCall = { tx: Tx; server: ServerContext };

export const inputReply = async (
  { server }: Pick<KeyedCall, "server">,
  key: ProcessKey,
  input: ProcessInput | "close",
): Promise<Reply> => ({ status: 200, body: await takeInput(server, key, input, server.clock()) });

export async function sendControl(
  { tx, server }: KeyedCall,
  key: ProcessKey,
  control: NewControl,
): Promise<Reply> {
  await controlProcess(tx, key, control, server.clock());
  return processReply(tx, key);
}

/** A byte offset; 0 or absent begins at the earliest that is kept. */
function byteCursor(cursor: string | null | undefined): number {
  if (cursor === null || cursor === undefined) return 0;
  if (!/^[0-9]{1,15}$/.test(cursor))
    throw new DomainError("invalid_cursor", "The cursor is a byte offset; 0 begins at the start.");
  return Number(cursor);
}

export async function readOutput(
  server: ServerContext,
  key: ProcessKey,
  stream: StoredStream,
  query: { limit?: number; cursor?: string; follow?: "0" | "1" },
  request: RequestFacts,
): Promise<Reply> {
  const process = await requireProcess(server.db, key);
  if (wantsEventStream(request, query.follow))
    return followOutput(server, key, stream, byteCursor(request.lastEventId ?? query.cursor));
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
