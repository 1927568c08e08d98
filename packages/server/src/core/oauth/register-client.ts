import { OAUTH_LIMITS } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import type { NewUuid } from "../../uuid.ts";
import { insertOauthClient } from "./client-writes.ts";
import type { OauthClientRow } from "./client-reads.ts";
import { clientName, isRedirectUri, refuse, UNUSED_CLIENT_MS, type OauthRefusal } from "./oauth.ts";

/** Registers a client (RFC 7591). Nothing that it says is checked, so nothing comes of it before a person approves. */
export async function registerClient(
  tx: Tx,
  { name, redirectUris }: { name: string | undefined; redirectUris: readonly string[] },
  { newUuid, now }: { newUuid: NewUuid; now: number },
): Promise<{ kind: "registered"; client: OauthClientRow } | OauthRefusal> {
  const wrong = redirectUris.find((uri) => !isRedirectUri(uri));
  if (wrong !== undefined)
    return refuse(
      "invalid_redirect_uri",
      `Each redirect URI is https, or http on localhost, 127.0.0.1 or [::1], without a fragment or user, in at most ${OAUTH_LIMITS.redirectUriCharacters} characters.`,
    );
  const client = { id: newUuid<"ocl">(), name: clientName(name), redirectUris: [...redirectUris] };
  await insertOauthClient(tx, { ...client, keptUntil: now + UNUSED_CLIENT_MS, now });
  return { kind: "registered", client };
}
