import {
  LIMITS,
  parseDuration,
  type CreateSession,
  type StartActor,
  type StartAndWait,
  type Uuid,
} from "@keelson/contract";
import { idempotencyExpiry } from "../../../core/idempotency/idempotency-expiry.ts";
import type { Answer } from "../../../core/idempotency/with-idempotency.ts";
import { findRun } from "../../../core/runs/run-reads.ts";
import { waitForRunEnd } from "../../../core/runs/wait-for-run-end.ts";
import {
  createSession,
  type SessionRequest,
  type SessionStart,
} from "../../../core/sessions/create-session.ts";
import { toNewRecord } from "../../../core/streams/prepare-records.ts";
import { DomainError, invalidRequest, notFound } from "../../../domain-error.ts";
import type { ServerContext } from "../../../server-context.ts";
import { replayedHeader } from "../../edge/keep-reply.ts";
import type { EnvironmentScope, Reply, RequestFacts } from "../../edge/route.ts";
import { newRunJson, runJson } from "../runs/wire.ts";
import { sourceOf } from "../streams/record-source.ts";
import { describeSession } from "./describe-session.ts";
import { sessionJson } from "./wire.ts";

/** The three ways to start a session: alone, as an actor, and waiting for the end of its run. */

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
  headers: replayedHeader(replayed),
});

const statusOf = ({ kind }: SessionStart): number => (kind === "created" ? 201 : 200);

export async function startSession(
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

export async function startActor(
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
export async function startAndWait(
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
  const { sessionId, runId } = JSON.parse(answer.body) as { sessionId: Uuid<"sess">; runId: Uuid<"run"> };
  const ended = await waitForRunEnd(server, scope.environmentId, runId, waitMs, facts.signal);
  if (!ended && facts.signal.aborted) {
    throw new DomainError(
      "unavailable",
      "The server is stopping; the run continues. Send the same request again to wait for it.",
    );
  }
  const [session, run] = await Promise.all([
    describeSession(server.db, scope, sessionId, server.clock()),
    findRun(server.db, scope.environmentId, runId),
  ]);
  if (run === null) throw notFound();
  const body200 = `{"session":${session},"run":${runJson(run, null)},"timed_out":${!ended}}`;
  return toReply({ status: 200, body: body200, replayed: answer.replayed });
}
