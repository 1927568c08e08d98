import { CREDENTIAL_KINDS } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import type { NewUuid } from "../../uuid.ts";
import type { MakeCredential } from "../credentials/make-credential.ts";
import type { Actor } from "../identity/identity.ts";
import type { CheckedAuthorization } from "./check-authorization.ts";
import { makeGrant, type ChosenPlace, type MadeGrant } from "./make-grant.ts";
import { CODE_MS } from "./oauth.ts";

/** A person approves an authorization request. @returns the code, which is stored nowhere, and the grant that it is for */
export async function approveAuthorization(
  tx: Tx,
  actor: Actor,
  { client, redirectUri, challenge, access }: CheckedAuthorization,
  chosen: ChosenPlace,
  context: { newUuid: NewUuid; makeCredential: MakeCredential; now: number },
): Promise<{ code: string; grant: MadeGrant }> {
  const { makeCredential, newUuid, now } = context;
  const { text, digest } = makeCredential(CREDENTIAL_KINDS.authorizationCode);
  const grant = await makeGrant(tx, actor, { clientId: client.id, access }, chosen, {
    code: { digest, challenge, redirectUri },
    expiresAt: now + CODE_MS,
    newUuid,
    now,
  });
  return { code: text, grant };
}
