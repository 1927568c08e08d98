import { CREDENTIAL_KINDS } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import type { NewUuid } from "../../uuid.ts";
import type { MakeCredential } from "../credentials/make-credential.ts";
import { USER_SESSION_MS, type LoginMethod } from "./login.ts";
import { insertSession } from "./session-writes.ts";

export type LoginContext = { newUuid: NewUuid; makeCredential: MakeCredential; now: number };

/** Signs a user in, once it is known who it is. @returns the session's text, which is stored nowhere. */
export async function startSession(
  tx: Tx,
  userId: string,
  method: LoginMethod,
  { newUuid, makeCredential, now }: LoginContext,
): Promise<string> {
  const { text, digest } = makeCredential(CREDENTIAL_KINDS.userSession);
  await insertSession(tx, { id: newUuid(), digest, userId, method, expiresAt: now + USER_SESSION_MS, now });
  return text;
}
