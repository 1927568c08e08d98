import type { OauthAccess, Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { DomainError, invalidRequest } from "../../domain-error.ts";
import { findOauthClient, type OauthClientRow } from "./client-reads.ts";
import { askedAccess, isChallenge, isRegistered, isResource } from "./oauth.ts";

/** What a client sends a person's browser with (RFC 6749, section 4.1.1; RFC 7636; RFC 8707). */
export type AuthorizationRequest = {
  /** Null for text that is no id. */
  clientId: Uuid<"ocl"> | null;
  redirectUri: string;
  responseType: string | undefined;
  challenge: string | undefined;
  challengeMethod: string | undefined;
  scope: string | undefined;
  resource: string | undefined;
};

/** An authorization request that may be answered. */
export type CheckedAuthorization = {
  client: OauthClientRow;
  redirectUri: string;
  challenge: string;
  /** The most that it asks for. */
  access: OauthAccess;
};

/**
 * Checks what a client sent a person's browser with. What is wrong is told to the person and not to the client: anybody can
 * register an address, and a browser that is sent on without a person's decision helps whoever made the link (RFC 9700, section
 * 4.11.2).
 *
 * @param resource the address of the one resource that there are tokens for
 * @throws DomainError `not_found`, `invalid_request`
 */
export async function checkAuthorization(
  db: Queryable,
  request: AuthorizationRequest,
  resource: string,
): Promise<CheckedAuthorization> {
  const { clientId, redirectUri, challenge } = request;
  const client = clientId === null ? null : await findOauthClient(db, clientId);
  if (client === null)
    throw new DomainError(
      "not_found",
      "The client that sent you here is not registered on this server, or its registration has expired. Remove the server in the client, and add it again.",
    );
  if (!isRegistered(client.redirectUris, redirectUri))
    throw wrong("redirect_uri", "is not an address that the client has registered");
  if (request.responseType !== "code") throw wrong("response_type", "must be code");
  if (request.challengeMethod !== "S256" || !isChallenge(challenge))
    throw wrong("code_challenge", "must be a challenge by the method S256 (RFC 7636)");
  if (!isResource(request.resource, resource)) throw wrong("resource", `must be ${resource}`);
  const access = askedAccess(request.scope);
  if (access === null) throw wrong("scope", "names nothing that this server has");
  return { client, redirectUri, challenge, access };
}

const wrong = (path: string, message: string): DomainError => invalidRequest([{ path, message }]);
