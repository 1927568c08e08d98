import { createHmac } from "node:crypto";
import {
  decodeId,
  encodeId,
  HEADERS,
  SECRET_NAME_PATTERN,
  type CreateSecret,
  type Secret,
} from "@keelson/contract";
import { idempotencyExpiry } from "../core/idempotency/idempotency-expiry.ts";
import { withIdempotency } from "../core/idempotency/with-idempotency.ts";
import { findSecret, findSecretByName, listSecrets, type SecretRow } from "../core/secrets/secret-reads.ts";
import {
  createSecret,
  deleteSecret,
  putSecret,
  revokeSecret,
  rotateSecret,
} from "../core/secrets/write-secret.ts";
import { invalidRequest, notFound } from "../domain-error.ts";
import type { ServerContext } from "../server-context.ts";
import type { Audited } from "./audit.ts";
import { decodeCursor, encodeCursor, pageLimit, toPage } from "./page.ts";
import type { EnvironmentScope, Reply, RequestFacts } from "./route.ts";
import { toSecret } from "./wire/secret.ts";

/** What the secret routes answer: /api knows them by name, /v1 by id. No answer has a value. */

const LIST = "secrets";
const NAME = new RegExp(SECRET_NAME_PATTERN);

export function secretIdOf({ id: text }: { id: string }): string {
  const id = decodeId("sec", text);
  if (id === null) throw notFound();
  return id;
}

const found = (row: SecretRow | null, status = 200): Reply => {
  if (row === null) throw notFound();
  return { status, body: toSecret(row) };
};

export async function answerSecretList(
  server: ServerContext,
  { environmentId }: EnvironmentScope,
  query: { limit?: number; cursor?: string },
): Promise<Reply> {
  const limit = pageLimit(query.limit);
  const before = decodeCursor(LIST, environmentId, query.cursor);
  const rows = await listSecrets(server.db, environmentId, before, limit + 1);
  const page = toPage(rows, limit, (row) => encodeCursor(LIST, environmentId, row.id));
  return { status: 200, body: { secrets: page.rows.map(toSecret), next_cursor: page.nextCursor } };
}

export const answerSecretItem = async (
  { db }: ServerContext,
  { environmentId }: EnvironmentScope,
  secretId: string,
): Promise<Reply> => found(await findSecret(db, environmentId, secretId));

export const answerSecretByName = async (
  { db }: ServerContext,
  { environmentId }: EnvironmentScope,
  name: string,
): Promise<Reply> => found(await findSecretByName(db, environmentId, name));

export async function answerSecretCreate(
  server: ServerContext,
  { environmentId, projectId }: EnvironmentScope,
  body: CreateSecret,
  request: RequestFacts,
  audited: Audited,
): Promise<Reply> {
  const now = server.clock();
  const { name, value } = body;
  const keyed = {
    environmentId,
    scope: "secrets.create",
    key: request.idempotencyKey,
    // A digest of the value itself would let whoever has the database try values.
    body: { name, value: createHmac("sha256", server.masterKey).update(value).digest("base64") },
    expiresAt: idempotencyExpiry(body.idempotency_key_ttl, now),
    now,
  };
  const answer = await audited(
    (tx) =>
      withIdempotency(tx, keyed, async () => {
        const id = await createSecret(tx, server, { environmentId, projectId, name, value }, now);
        const row = await findSecret(tx, environmentId, id);
        if (row === null) throw new Error("A secret is not there after its insert.");
        return { status: 201, body: JSON.stringify(toSecret(row)) };
      }),
    ({ replayed, body: text }) =>
      replayed ? null : { id: (JSON.parse(text) as Secret).id, details: { name } },
  );
  const headers = answer.replayed ? { headers: { [HEADERS.idempotencyReplayed]: "true" } } : {};
  return { status: answer.status, json: answer.body, ...headers };
}

export async function answerSecretPut(
  server: ServerContext,
  { environmentId, projectId }: EnvironmentScope,
  name: string,
  value: string,
  audited: Audited,
): Promise<Reply> {
  if (!NAME.test(name)) {
    const message = "must be letters, digits and _, a digit not first; up to 128 characters";
    throw invalidRequest([{ path: "name", message }]);
  }
  const { secretId, created } = await audited(
    (tx) => putSecret(tx, server, { environmentId, projectId, name, value }, server.clock()),
    (put) => ({ id: encodeId("sec", put.secretId), details: { name, created: put.created } }),
  );
  return found(await findSecret(server.db, environmentId, secretId), created ? 201 : 200);
}

export async function answerSecretRotate(
  server: ServerContext,
  { environmentId }: EnvironmentScope,
  secretId: string,
  value: string,
  audited: Audited,
): Promise<Reply> {
  await audited(
    (tx) => rotateSecret(tx, server, environmentId, secretId, value, server.clock()),
    () => ({ id: encodeId("sec", secretId) }),
  );
  return found(await findSecret(server.db, environmentId, secretId));
}

export async function answerSecretRevoke(
  server: ServerContext,
  { environmentId }: EnvironmentScope,
  secretId: string,
  audited: Audited,
): Promise<Reply> {
  await audited(
    (tx) => revokeSecret(tx, environmentId, secretId, server.clock()),
    (revoked) => (revoked ? { id: encodeId("sec", secretId) } : null),
  );
  return found(await findSecret(server.db, environmentId, secretId));
}

export async function answerSecretDelete(
  { environmentId }: EnvironmentScope,
  name: string,
  audited: Audited,
): Promise<Reply> {
  await audited(
    (tx) => deleteSecret(tx, environmentId, name),
    (secretId) => ({ id: encodeId("sec", secretId), details: { name } }),
  );
  return { status: 204, body: undefined };
}
