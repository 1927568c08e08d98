import {
  CREDENTIAL_KINDS,
  ENVIRONMENT_PERMISSIONS,
  parseDuration,
  type CreateApiKey,
  type Uuid,
} from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { invalidRequest } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import type { MakeCredential } from "../credentials/make-credential.ts";
import { findApiKeyRow, type ApiKeyRow } from "./api-key-reads.ts";
import { insertApiKey } from "./api-key-writes.ts";
import type { Actor } from "./identity.ts";

const MAX_LIFE_MS = 3_650 * 86_400_000;

/**
 * Makes an API key of an environment: with all permissions of a developer there, or some; for ever, or for a time.
 *
 * @returns the key's text, which is stored nowhere, and its row
 * @throws DomainError `invalid_request` for a life of nothing or of more than ten years
 */
export async function createApiKey(
  tx: Tx,
  actor: Actor,
  environmentId: Uuid<"env">,
  { name, permissions, expires_in: expiresIn }: CreateApiKey,
  context: { newUuid: NewUuid; makeCredential: MakeCredential; now: number },
): Promise<{ text: string; key: ApiKeyRow }> {
  const { newUuid, makeCredential, now } = context;
  const lifeMs = expiresIn === undefined || expiresIn === null ? null : (parseDuration(expiresIn) ?? 0);
  if (lifeMs !== null && (lifeMs <= 0 || lifeMs > MAX_LIFE_MS))
    throw invalidRequest([{ path: "expires_in", message: "must be over 0 and at most 3650d" }]);
  const { text, digest } = makeCredential(CREDENTIAL_KINDS.apiKey);
  const id = newUuid<"key">();
  await insertApiKey(tx, {
    id,
    digest,
    environmentId,
    name,
    permissions: permissions ?? ENVIRONMENT_PERMISSIONS,
    createdBy: actor.userId,
    expiresAt: lifeMs === null ? null : now + lifeMs,
    now,
  });
  const key = await findApiKeyRow(tx, environmentId, id);
  if (key === null) throw new Error("An API key vanished while it was made.");
  return { text, key };
}
