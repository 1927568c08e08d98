import type { CreateSession, Uuid } from "@keelson/contract";
import { LIMITS } from "@keelson/contract";
import type { Database } from "../../db/pool.ts";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, invalidRequest } from "../../domain-error.ts";
import type { EntrypointKind } from "../entrypoints/entrypoint-reads.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import type { Wakes } from "../feeds/wakes.ts";
import { withIdempotency, type Answer } from "../idempotency/with-idempotency.ts";
import type { NewRun } from "../runs/new-run.ts";
import { resolveStart, type StartRequest } from "../runs/resolve-start.ts";
import { findRun, type RunRow } from "../runs/run-reads.ts";
import { insertRun } from "../runs/insert-run.ts";
import { appendRecords } from "../streams/append-records.ts";
import { beginTurn } from "../streams/begin-turn.ts";
import { ensureStream } from "../streams/ensure-streams.ts";
import type { NewRecord, RecordSource } from "../streams/stream.ts";
import { checkStartWorkspace } from "../workspaces/check-start-workspace.ts";
import { findOpenSession, type SessionRow, type StoredSession } from "./session-reads.ts";
import { insertSession } from "./session-writes.ts";
import type { StartOptions, TurnContext } from "./start-turn.ts";

/** A session's start with its parts told apart; `body` is of its first run. */
export type SessionRequest = Omit<StartRequest, "organizationId" | "idempotencyKey" | "links" | "kind"> & {
  kind: EntrypointKind;
  externalId: string | null;
  metadata: Record<string, unknown> | undefined;
  tags: string[];
  expiresAt: string | null;
  /** The first record of stream `input`. */
  input: NewRecord | null;
  source: RecordSource;
  idempotency: { scope: string; key: string | null; body: unknown; expiresAt: number };
};

export type CreateContext = TurnContext & { db: Database; wakes: Wakes };

/** `run` is the first run of a new session, or the newest of an open one that has the external id. */
export type SessionStart =
  | { kind: "created"; session: SessionRow; run: NewRun }
  | { kind: "reused"; session: SessionRow; run: RunRow };

/** Each attempt reads the pointer again, so a second is needed only when promotions follow each other within it. */
const MAX_STALE_ATTEMPTS = 5;

/** The deployment was promoted between its look-up and the insert: nothing of the transaction may stay. */
class StaleDeployment extends Error {}

/**
 * Creates a session with its first run and its first input in one transaction, or gives the open one with the same
 * external id. Of all that are created at once with one external id, one is; the others get that one.
 *
 * What cannot be started is refused only when it is to be created: a repeat of a key, and an open session, are answered
 * whatever the current deployment declares.
 *
 * @param answer makes the stored answer of the request, in the transaction.
 * @throws DomainError `session_conflict` when the open session runs another entrypoint, and those of a start.
 */
export async function createSession(
  context: CreateContext,
  request: SessionRequest,
  answer: (start: SessionStart) => Answer,
): Promise<Answer & { replayed: boolean }> {
  const now = context.clock();
  const expiresAt = expiryOf(request.expiresAt, now);
  for (let attempt = 1; attempt <= MAX_STALE_ATTEMPTS; attempt += 1) {
    const sessionId = context.newUuid<"sess">();
    const resolved = await tryResolve(context, request, sessionId, now);
    try {
      return await createResolved(context, request, { sessionId, resolved, expiresAt, now }, answer);
    } catch (error) {
      if (!(error instanceof StaleDeployment)) throw error;
      context.deployments.forget(request.environmentId);
    }
  }
  throw new DomainError("unavailable", "The current deployment keeps changing; try the start again.");
}

type Resolved = { ok: true; run: NewRun } | { ok: false; error: DomainError };

type Creation = { sessionId: Uuid<"sess">; resolved: Resolved; expiresAt: number | null; now: number };

async function createResolved(
  context: CreateContext,
  request: SessionRequest,
  creation: Creation,
  answer: (start: SessionStart) => Answer,
): Promise<Answer & { replayed: boolean }> {
  let group: string | null = null;
  const keyed = { environmentId: request.environmentId, now: creation.now, ...request.idempotency };
  const result = await context.db.transaction((tx) =>
    withIdempotency(tx, keyed, async () => {
      const start = await findOrInsert(tx, context, request, creation);
      group = start.kind === "created" ? start.run.workerGroupId : null;
      return answer(start);
    }),
  );
  if (group !== null && !result.replayed) context.wakes.wake(wakeKeys.work(group));
  return result;
}

async function tryResolve(
  context: CreateContext,
  request: SessionRequest,
  sessionId: Uuid<"sess">,
  now: number,
): Promise<Resolved> {
  const links = {
    sessionId,
    turn: 1,
    workspaceId: null,
    scheduleId: null,
    parentRunId: null,
  };
  const start = { ...request, links, idempotencyKey: null };
  const sources = { deployments: context.deployments, admit: context.runQuota.admit };
  try {
    const { environmentId, body } = request;
    await checkStartWorkspace(context.db, environmentId, body.workspace_id, { kind: "keep" });
    return { ok: true, run: await resolveStart(sources, start, context.newUuid, now) };
  } catch (error) {
    if (error instanceof DomainError) return { ok: false, error };
    throw error;
  }
}

/** An open session can end between the look at it and the insert; more often than this is not chance. */
const MAX_LOOKS = 5;

async function findOrInsert(
  tx: Tx,
  context: CreateContext,
  request: SessionRequest,
  creation: Creation,
): Promise<SessionStart> {
  for (let look = 1; look <= MAX_LOOKS; look += 1) {
    const open =
      request.externalId === null
        ? null
        : await findOpenSession(tx, request.environmentId, request.externalId);
    if (open !== null) return reuse(tx, request, open);
    const created = await insertWithFirstRun(tx, context, request, creation);
    if (created !== null) return created;
  }
  throw new DomainError("unavailable", "Sessions with this external_id keep opening and ending; try again.");
}

async function reuse(tx: Tx, request: SessionRequest, session: SessionRow): Promise<SessionStart> {
  if (session.entrypointKind !== request.kind || session.entrypoint !== request.entrypoint) {
    throw new DomainError(
      "session_conflict",
      `The open session with this external_id runs ${session.entrypointKind} "${session.entrypoint}". Close it first, or use another external_id.`,
      { [session.entrypointKind]: session.entrypoint, external_id: session.externalId },
    );
  }
  const run = await findRun(tx, session.environmentId, session.currentRunId);
  if (run === null) throw new Error("A session's newest run is not there.");
  return { kind: "reused", session, run };
}

/** Null when another transaction has just opened a session with the external id. */
async function insertWithFirstRun(
  tx: Tx,
  context: CreateContext,
  request: SessionRequest,
  creation: Creation,
): Promise<SessionStart | null> {
  if (!creation.resolved.ok) throw creation.resolved.error;
  const { run } = creation.resolved;
  const session = newSession(request, run, creation);
  if (!(await insertSession(tx, session))) return null;
  if (request.input !== null) await insertFirstInput(tx, context, session, request.input, request.source);
  if (!(await insertRun(tx, run))) throw new StaleDeployment();
  return { kind: "created", session: { ...session, runStatus: "queued" }, run };
}

async function insertFirstInput(
  tx: Tx,
  context: CreateContext,
  { environmentId, id: sessionId, createdAt: at }: StoredSession,
  record: NewRecord,
  source: RecordSource,
): Promise<void> {
  const stream = { environmentId, sessionId, name: "input", direction: "input" } as const;
  await ensureStream(tx, context.newUuid, stream, at);
  await appendRecords(tx, [{ ...stream, records: [record], source, at, steer: false }], "session");
  await beginTurn(tx, environmentId, sessionId);
}

function newSession(
  request: SessionRequest,
  run: NewRun,
  { sessionId, expiresAt, now }: Creation,
): StoredSession {
  return {
    id: sessionId,
    environmentId: request.environmentId,
    projectId: request.projectId,
    externalId: request.externalId,
    entrypointKind: request.kind,
    entrypoint: request.entrypoint,
    status: "open",
    currentRunId: run.id,
    turn: 1,
    idle: false,
    whileBusy: run.whileBusy,
    startOptions: JSON.stringify(startOptionsOf(request.body)),
    metadata: request.metadata === undefined ? null : metadataText(request.metadata),
    tags: request.tags.length === 0 ? null : request.tags,
    workspaceId: run.links.workspaceId,
    expiresAt,
    closedAt: null,
    closeReason: null,
    failedRunId: null,
    failureCode: null,
    failureMessage: null,
    failedAt: null,
    createdAt: now,
    updatedAt: now,
  };
}

/** What holds for every turn: not the delay, the payload, the metadata and the key, which are of the first run. */
function startOptionsOf(body: Partial<CreateSession>): StartOptions {
  const { deployment_version, queue, concurrency_key, priority, ttl, max_duration, retry } = body;
  const options = { deployment_version, queue, concurrency_key, priority, ttl, max_duration, retry };
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** @throws DomainError `payload_too_large`. */
export function metadataText(metadata: Record<string, unknown>): string {
  const text = JSON.stringify(metadata);
  if (Buffer.byteLength(text) <= LIMITS.metadataBytes) return text;
  throw new DomainError(
    "payload_too_large",
    `metadata may be ${LIMITS.metadataBytes} bytes of JSON; store larger data elsewhere and pass a reference.`,
    { field: "metadata", limit_bytes: LIMITS.metadataBytes },
  );
}

/** @throws DomainError `invalid_request` when the time has passed. */
export function expiryOf(expiresAt: string | null | undefined, now: number): number | null {
  if (expiresAt === null || expiresAt === undefined) return null;
  const at = Date.parse(expiresAt);
  if (at > now) return at;
  throw invalidRequest([{ path: "expires_at", message: "must be in the future" }]);
}
