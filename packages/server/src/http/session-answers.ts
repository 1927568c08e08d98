import {
  decodeId,
  encodeId,
  HEADERS,
  LIMITS,
  parseDuration,
  type CreateSession,
  type SessionStatus,
  type StartActor,
  type StartAndWait,
  type UpdateSession,
} from "@keelson/contract";
import { idempotencyExpiry } from "../core/idempotency/idempotency-expiry.ts";
import type { Answer } from "../core/idempotency/with-idempotency.ts";
import { findRun } from "../core/runs/run-reads.ts";
import { findStatusFacts, statusReason } from "../core/runs/status-reason.ts";
import { waitForRunEnd } from "../core/runs/wait-for-run-end.ts";
import { cancelSession } from "../core/sessions/cancel-session.ts";
import { closeSession } from "../core/sessions/close-session.ts";
import { createSession, type SessionRequest, type SessionStart } from "../core/sessions/create-session.ts";
import {
  findSession,
  findSessionIdByExternalId,
  listSessions,
  type SessionRow,
} from "../core/sessions/session-reads.ts";
import { updateSession } from "../core/sessions/update-session.ts";
import { toNewRecord } from "../core/streams/prepare-records.ts";
import type { RecordSource } from "../core/streams/stream.ts";
import { wakeStreams } from "../core/streams/stream-effects.ts";
import { listStreams } from "../core/streams/stream-reads.ts";
import { DomainError, invalidRequest, notFound } from "../domain-error.ts";
import type { ServerContext } from "../server-context.ts";
import { decodeCursor, encodeCursor, pageLimit, toPage } from "./page.ts";
import type { EnvironmentScope, Reply, RequestFacts } from "./route.ts";
import { answerRunList } from "./run-routes.ts";
import { newRunJson, runJson } from "./wire/run.ts";
import { sessionJson } from "./wire/session.ts";
import { toStream } from "./wire/stream.ts";

/** What the session routes of both families answer. */

const LIST = "sessions";

/** How a path names a session: by its id, or by the external id of the open one, else the newest. */
export type SessionAddress = { id: string } | { externalId: string };

/** The session's id, which is only known to be there when it was found by its external id. */
export async function sessionIdOf(
  server: ServerContext,
  { environmentId }: { environmentId: string },
  address: SessionAddress,
): Promise<string> {
  const id =
    "id" in address
      ? decodeId("sess", address.id)
      : await findSessionIdByExternalId(server.db, environmentId, address.externalId);
  if (id === null) throw notFound();
  return id;
}

export const sourceOf = ({ caller }: EnvironmentScope): RecordSource => ({
  kind: "api",
  id: encodeId(caller.kind === "api_key" ? "key" : "user", caller.id),
  runId: null,
  attemptNumber: null,
});

type Start = Omit<CreateSession, "task" | "actor">;

function checkExternalId(externalId: string | undefined): string | null {
  if (externalId === undefined) return null;
  if (Buffer.byteLength(externalId) <= LIMITS.externalIdBytes) return externalId;
  throw invalidRequest([{ path: "external_id", message: `may be ${LIMITS.externalIdBytes} bytes` }]);
}

/** What all three ways to start a session make of their bodies. `runs` is what they ask of the first run alone. */
function toRequest(
  server: ServerContext,
  scope: EnvironmentScope,
  facts: RequestFacts,
  entrypoint: Pick<SessionRequest, "kind" | "entrypoint">,
  { external_id, input, expires_at, metadata, tags, ...body }: Start,
  run: { metadata?: Record<string, unknown>; tags: string[] },
): Omit<SessionRequest, "idempotency"> {
  const { idempotency_key: _key, idempotency_key_ttl: _ttl, ...start } = body;
  return {
    projectId: scope.projectId,
    environmentId: scope.environmentId,
    workerGroupId: scope.workerGroupId,
    ...entrypoint,
    body: { ...start, ...run },
    clientVersion: facts.clientVersion,
    cliVersion: facts.cliVersion,
    sdkVersion: facts.sdkVersion,
    externalId: checkExternalId(external_id),
    metadata,
    tags: tags ?? [],
    expiresAt: expires_at ?? null,
    input: input === undefined ? null : toNewRecord({ data: input }, "input", server.newUuid),
    source: sourceOf(scope),
  };
}

function entrypointOf({ task, actor }: CreateSession): Pick<SessionRequest, "kind" | "entrypoint"> {
  if (task !== undefined && actor !== undefined)
    throw invalidRequest([{ path: "actor", message: "send either task or actor" }]);
  if (task !== undefined) return { kind: "task", entrypoint: task };
  if (actor !== undefined) return { kind: "actor", entrypoint: actor };
  throw invalidRequest([{ path: "actor", message: "is required; send actor, or task" }]);
}

const toReply = ({ status, body, replayed }: Answer & { replayed: boolean }): Reply => ({
  status,
  json: body,
  ...(replayed ? { headers: { [HEADERS.idempotencyReplayed]: "true" } } : {}),
});

const statusOf = ({ kind }: SessionStart): number => (kind === "created" ? 201 : 200);

export async function answerSessionCreate(
  server: ServerContext,
  scope: EnvironmentScope,
  body: CreateSession,
  facts: RequestFacts,
): Promise<Reply> {
  const { task: _task, actor: _actor, ...start } = body;
  const request = toRequest(server, scope, facts, entrypointOf(body), start, { tags: body.tags ?? [] });
  const expiresAt = idempotencyExpiry(body.idempotency_key_ttl, server.clock());
  const idempotency = { scope: "sessions.create", key: facts.idempotencyKey, body, expiresAt };
  const answer = await createSession(server, { ...request, idempotency }, (started) => ({
    status: statusOf(started),
    body: sessionJson(started.session, null),
  }));
  return toReply(answer);
}

export async function answerActorStart(
  server: ServerContext,
  scope: EnvironmentScope,
  actor: string,
  body: StartActor,
  facts: RequestFacts,
): Promise<Reply> {
  const { session = {}, metadata, tags, ...start } = body;
  const runTags = [...new Set([...(session.tags ?? []), ...(tags ?? [])])];
  if (runTags.length > LIMITS.tags)
    throw invalidRequest([
      { path: "tags", message: `may be ${LIMITS.tags} together with those of the session` },
    ]);
  const request = toRequest(
    server,
    scope,
    facts,
    { kind: "actor", entrypoint: actor },
    { ...start, ...session },
    { tags: runTags, ...(metadata === undefined ? {} : { metadata }) },
  );
  const expiresAt = idempotencyExpiry(body.idempotency_key_ttl, server.clock());
  const idempotency = { scope: `actors.start:${actor}`, key: facts.idempotencyKey, body, expiresAt };
  const answer = await createSession(server, { ...request, idempotency }, (started) => ({
    status: statusOf(started),
    body: `{"session":${sessionJson(started.session, null)},"run":${started.kind === "created" ? newRunJson(started.run) : runJson(started.run, null)}}`,
  }));
  return toReply(answer);
}

const DEFAULT_TIMEOUT = "60s";
const MAX_TIMEOUT_MS = 600_000;

function timeoutMs(timeout: string): number {
  const ms = parseDuration(timeout);
  if (ms === null || ms > MAX_TIMEOUT_MS)
    throw invalidRequest([{ path: "timeout", message: "must be a duration up to 10m, such as 60s" }]);
  return ms;
}

/**
 * Starts a session, or finds the one that an earlier call has started, and waits for the end of the run. Only waiting ends
 * with the request: the run goes on.
 */
export async function answerStartAndWait(
  server: ServerContext,
  scope: EnvironmentScope,
  body: StartAndWait,
  facts: RequestFacts,
): Promise<Reply> {
  const { timeout, ...created } = body;
  const waitMs = timeoutMs(timeout ?? DEFAULT_TIMEOUT);
  const { task: _task, actor: _actor, ...start } = created;
  const request = toRequest(server, scope, facts, entrypointOf(body), start, { tags: body.tags ?? [] });
  const expiresAt = idempotencyExpiry(body.idempotency_key_ttl, server.clock());
  const idempotency = {
    scope: "sessions.start-and-wait",
    key: facts.idempotencyKey,
    body: created,
    expiresAt,
  };
  const answer = await createSession(server, { ...request, idempotency }, ({ session, run }) => ({
    status: 200,
    body: JSON.stringify({ sessionId: session.id, runId: run.id }),
  }));
  const { sessionId, runId } = JSON.parse(answer.body) as { sessionId: string; runId: string };
  const ended = await waitForRunEnd(server, scope.environmentId, runId, waitMs, facts.signal);
  if (!ended && facts.signal.aborted) {
    throw new DomainError(
      "unavailable",
      "The server is stopping; the run goes on. Send the same request again to wait for it.",
    );
  }
  const [session, run] = await Promise.all([
    requireSession(server, scope, sessionId),
    findRun(server.db, scope.environmentId, runId),
  ]);
  if (run === null) throw notFound();
  const body200 = `{"session":${await describeSession(server, session)},"run":${runJson(run, null)},"timed_out":${!ended}}`;
  return toReply({ status: 200, body: body200, replayed: answer.replayed });
}

async function requireSession(
  server: ServerContext,
  { environmentId }: EnvironmentScope,
  sessionId: string,
): Promise<SessionRow> {
  const session = await findSession(server.db, environmentId, sessionId);
  if (session === null) throw notFound();
  return session;
}

/** With why its live run is not running. */
async function describeSession(server: ServerContext, session: SessionRow): Promise<string> {
  const facts =
    session.runStatus === null
      ? null
      : await findStatusFacts(server.db, session.environmentId, session.currentRunId, server.clock());
  return sessionJson(session, facts === null ? null : statusReason(facts));
}

export async function answerSessionItem(
  server: ServerContext,
  scope: EnvironmentScope,
  address: SessionAddress,
): Promise<Reply> {
  const session = await requireSession(server, scope, await sessionIdOf(server, scope, address));
  return { status: 200, json: await describeSession(server, session) };
}

export type SessionListQuery = {
  limit?: number;
  cursor?: string;
  external_id?: string;
  status?: SessionStatus[];
  task?: string;
  actor?: string;
  tag?: string[];
};

export async function answerSessionList(
  server: ServerContext,
  { environmentId }: EnvironmentScope,
  query: SessionListQuery,
): Promise<Reply> {
  const limit = pageLimit(query.limit);
  const before = decodeCursor(LIST, environmentId, query.cursor);
  const filter = {
    externalId: query.external_id ?? null,
    statuses: query.status ?? [],
    task: query.task ?? null,
    actor: query.actor ?? null,
    tags: query.tag ?? [],
  };
  const rows = await listSessions(server.db, environmentId, filter, before, limit + 1);
  const page = toPage(rows, limit, (row) => encodeCursor(LIST, environmentId, row.id));
  return {
    status: 200,
    json: `{"sessions":[${page.rows.map((row) => sessionJson(row, null)).join(",")}],"next_cursor":${JSON.stringify(page.nextCursor)}}`,
  };
}

export async function answerSessionUpdate(
  server: ServerContext,
  scope: EnvironmentScope,
  address: SessionAddress,
  changes: UpdateSession,
): Promise<Reply> {
  const sessionId = await sessionIdOf(server, scope, address);
  await server.db.transaction((tx) =>
    updateSession(tx, scope.environmentId, sessionId, changes, server.clock()),
  );
  return { status: 200, json: await describeSession(server, await requireSession(server, scope, sessionId)) };
}

export async function answerSessionClose(
  server: ServerContext,
  scope: EnvironmentScope,
  address: SessionAddress,
  reason: string | null,
): Promise<Reply> {
  const sessionId = await sessionIdOf(server, scope, address);
  const effects = await server.db.transaction((tx) =>
    closeSession(tx, scope.environmentId, sessionId, reason, server.clock()),
  );
  wakeStreams(server.wakes, effects);
  return { status: 200, json: await describeSession(server, await requireSession(server, scope, sessionId)) };
}

export async function answerSessionCancel(
  server: ServerContext,
  scope: EnvironmentScope,
  address: SessionAddress,
): Promise<Reply> {
  const sessionId = await sessionIdOf(server, scope, address);
  const effects = await server.db.transaction((tx) =>
    cancelSession(tx, scope.environmentId, sessionId, server.clock()),
  );
  wakeStreams(server.wakes, effects);
  return { status: 200, json: await describeSession(server, await requireSession(server, scope, sessionId)) };
}

type PageQuery = { limit?: number; cursor?: string };

export async function answerSessionRuns(
  server: ServerContext,
  scope: EnvironmentScope,
  address: SessionAddress,
  query: PageQuery,
): Promise<Reply> {
  const { id } = await requireSession(server, scope, await sessionIdOf(server, scope, address));
  return answerRunList(server, scope, { ...query, session_id: encodeId("sess", id) });
}

export async function answerSessionStreams(
  server: ServerContext,
  scope: EnvironmentScope,
  address: SessionAddress,
  query: PageQuery,
): Promise<Reply> {
  const { environmentId } = scope;
  const { id } = await requireSession(server, scope, await sessionIdOf(server, scope, address));
  const limit = pageLimit(query.limit);
  const before = decodeCursor("streams", environmentId, query.cursor);
  const rows = await listStreams(server.db, environmentId, id, before, limit + 1);
  const page = toPage(rows, limit, (row) => encodeCursor("streams", environmentId, row.id));
  return { status: 200, body: { streams: page.rows.map(toStream), next_cursor: page.nextCursor } };
}
