import { CREDENTIAL_KINDS, type Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import type { MakeCredential } from "../credentials/make-credential.ts";
import { isSuspended } from "./user-reads.ts";
import { USER_SESSION_MS, type LoginMethod } from "../logins/login.ts";
import { insertSession } from "./session-writes.ts";

export type LoginContext = { newUuid: NewUuid; makeCredential: MakeCredential; now: number };

/** `text` is stored nowhere. */
export type StartedSession = { id: Uuid<"usess">; text: string; method: LoginMethod };

/**
 * Signs a user in, once it is known who it is.
 *
 * @throws DomainError `forbidden` for a suspended one
 */
export async function startSession(
  tx: Tx,
  userId: Uuid<"user">,
  method: LoginMethod,
  { newUuid, makeCredential, now }: LoginContext,
): Promise<StartedSession> {
  if (await isSuspended(tx, userId))
    throw new DomainError(
      "forbidden",
      "This account is suspended. Ask an administrator of the installation.",
    );
  const id = newUuid<"usess">();
  const { text, digest } = makeCredential(CREDENTIAL_KINDS.userSession);
  await insertSession(tx, { id, digest, userId, method, expiresAt: now + USER_SESSION_MS, now });
  return { id, text, method };
}
