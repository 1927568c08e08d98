import { decodeId, HEADERS, type CreateToken, type TokenStatus } from "@keelson/contract";
import { wakeSettled } from "../core/executions/settle-changes.ts";
import { idempotencyExpiry } from "../core/idempotency/idempotency-expiry.ts";
import { withIdempotency } from "../core/idempotency/with-idempotency.ts";
import { cancelToken } from "../core/tokens/cancel-token.ts";
import { completeToken, type CompletionData } from "../core/tokens/complete-token.ts";
import { createTokens, toNewToken } from "../core/tokens/create-tokens.ts";
import { callbackUrl, deriveTokenSecrets } from "../core/tokens/token-secrets.ts";
import type { Completer, TokenRefusal } from "../core/tokens/token.ts";
import { findToken, listTokens } from "../core/tokens/token-reads.ts";
import { DomainError, invalidRequest, notFound } from "../domain-error.ts";
import type { ServerContext } from "../server-context.ts";
import { decodeCursor, encodeCursor, pageLimit, toPage } from "./page.ts";
import type { EnvironmentScope, Reply, RequestFacts } from "./route.ts";
import { createdTokenJson, tokenJson } from "./wire/token.ts";

/** What the token routes of all families answer. */

/** A cursor goes on in the order of the list that gave it. */
const listIn = (order: "newest" | "oldest"): string => (order === "newest" ? "tokens" : "tokens oldest");

/** The token's id of a path, or not found: a malformed id tells no more than an absent one. */
export function tokenIdOf({ id: text }: { id: string }): string {
  const id = decodeId("tok", text);
  if (id === null) throw notFound();
  return id;
}

export async function answerCreate(
  server: ServerContext,
  { environmentId, projectId }: EnvironmentScope,
  body: CreateToken,
  request: RequestFacts,
): Promise<Reply> {
  const now = server.clock();
  const token = toNewToken({ environmentId, projectId, id: server.newUuid(), runId: null }, body, now);
  const keyed = {
    environmentId,
    scope: "tokens.create",
    key: request.idempotencyKey,
    body,
    expiresAt: idempotencyExpiry(body.idempotency_key_ttl, now),
    now,
  };
  // What is stored under the key has no secret; those follow from the id, now and when the creation is repeated.
  const answer = await server.db.transaction((tx) =>
    withIdempotency(tx, keyed, async () => {
      const [created] = await createTokens(tx, server.masterKey, [token]);
      if (created === undefined) throw new Error("A token was not created.");
      return { status: 201, body: tokenJson(created) };
    }),
  );
  const id = decodeId("tok", (JSON.parse(answer.body) as { id: string }).id);
  if (id === null) throw new Error("The stored answer of a creation names no token.");
  const { publicAccessToken, callbackSecret } = deriveTokenSecrets(server.masterKey, id);
  return {
    status: answer.status,
    json: createdTokenJson(answer.body, {
      publicAccessToken,
      callbackUrl: callbackUrl(server.publicUrl(), id, callbackSecret),
    }),
    // The only answer with the token's secrets is kept by nobody on the way.
    headers: {
      "cache-control": "no-store",
      ...(answer.replayed ? { [HEADERS.idempotencyReplayed]: "true" } : {}),
    },
  };
}

export async function answerItem(
  server: ServerContext,
  { environmentId }: EnvironmentScope,
  params: { id: string },
): Promise<Reply> {
  const token = await findToken(server.db, environmentId, tokenIdOf(params));
  if (token === null) throw notFound();
  return { status: 200, json: tokenJson(token) };
}

/** An id in a filter: a malformed one matches nothing, but is more likely a mistake, so it is told. */
function runFilter(text: string | undefined): string | null {
  if (text === undefined) return null;
  const id = decodeId("run", text);
  if (id === null) throw invalidRequest([{ path: "run_id", message: "must be an id that begins with run_" }]);
  return id;
}

type TokenListQuery = {
  limit?: number;
  cursor?: string;
  status?: TokenStatus[];
  run_id?: string;
  tag?: string[];
  order?: "newest" | "oldest";
};

export async function answerList(
  server: ServerContext,
  { environmentId }: EnvironmentScope,
  query: TokenListQuery,
): Promise<Reply> {
  const limit = pageLimit(query.limit);
  const { order = "newest" } = query;
  const after = decodeCursor(listIn(order), environmentId, query.cursor);
  const filter = {
    statuses: [...new Set(query.status)],
    runId: runFilter(query.run_id),
    tags: query.tag ?? [],
    isOldestFirst: order === "oldest",
  };
  const rows = await listTokens(server.db, environmentId, filter, after, limit + 1);
  const page = toPage(rows, limit, (row) => encodeCursor(listIn(order), environmentId, row.id));
  return {
    status: 200,
    json: `{"tokens":[${page.rows.map(tokenJson).join(",")}],"next_cursor":${JSON.stringify(page.nextCursor)}}`,
  };
}

const refusalOf = ({ code, message }: TokenRefusal): DomainError => new DomainError(code, message);

/** Completes the token, whichever way the completion came. */
export async function answerComplete(
  server: ServerContext,
  environmentId: string,
  tokenId: string,
  data: CompletionData,
  by: Completer,
): Promise<Reply> {
  const request = { environmentId, tokenId, data, by, now: server.clock() };
  const outcome = await server.db.transaction((tx) => completeToken(tx, request));
  wakeSettled(server.wakes, outcome.settled);
  if (outcome.status === "refused") throw refusalOf(outcome.refusal);
  return { status: 200, json: `{"status":"${outcome.status}","token":${tokenJson(outcome.token)}}` };
}

export async function answerCancel(
  server: ServerContext,
  { environmentId }: EnvironmentScope,
  params: { id: string },
): Promise<Reply> {
  const request = { environmentId, tokenId: tokenIdOf(params), now: server.clock() };
  const outcome = await server.db.transaction((tx) => cancelToken(tx, request));
  wakeSettled(server.wakes, outcome.settled);
  if (outcome.status === "refused") throw refusalOf(outcome.refusal);
  return { status: 200, json: tokenJson(outcome.token) };
}
