// Clients that sign in by OAuth, and the person who approves them in a browser.

import assert from "node:assert/strict";
import { hash, randomBytes } from "node:crypto";
import type { OauthAccess } from "@keelson/contract";
import type { Answer, ApiServer } from "./api-server.ts";
import { place } from "./tenancy.ts";

type Caller = Pick<ApiServer, "call">;

export const REDIRECT_URI = "http://127.0.0.1/callback";

export const newVerifier = (): string => randomBytes(32).toString("base64url");
export const challengeOf = (verifier: string): string => hash("sha256", verifier, "base64url");

/** Registers a client. @returns its id. */
export async function register(server: Caller, body: object = {}): Promise<string> {
  const answer = await server.call("POST", "/oauth/register", {
    as: null,
    body: { client_name: "Test client", redirect_uris: [REDIRECT_URI], ...body },
  });
  assert.equal(answer.status, 201, answer.text);
  return answer.body.client_id;
}

/** Sends a form, as clients do. */
export const sendForm = (server: Caller, path: string, fields: Record<string, string>): Promise<Answer> =>
  server.call("POST", path, {
    as: null,
    bytes: Buffer.from(new URLSearchParams(fields).toString()),
    headers: { "content-type": "application/x-www-form-urlencoded" },
  });

export const askToken = (server: Caller, fields: Record<string, string>): Promise<Answer> =>
  sendForm(server, "/oauth/token", fields);

export const refresh = (server: Caller, clientId: string, refreshToken: string): Promise<Answer> =>
  askToken(server, { grant_type: "refresh_token", client_id: clientId, refresh_token: refreshToken });

/** What a client sends the browser with. */
export const requestOf = (clientId: string, verifier: string, more: object = {}) => ({
  response_type: "code",
  client_id: clientId,
  redirect_uri: REDIRECT_URI,
  state: "a state",
  code_challenge: challengeOf(verifier),
  code_challenge_method: "S256",
  ...more,
});

export type ApproveOptions = { as?: string; access?: OauthAccess; at?: object; more?: object };

/** A person approves a client's request. */
export const approve = (
  server: ApiServer,
  clientId: string,
  verifier: string,
  {
    as = server.credentials.user_token,
    access = "write",
    at = place(server),
    more = {},
  }: ApproveOptions = {},
): Promise<Answer> =>
  server.call("POST", "/api/oauth-authorization", {
    as,
    body: { ...requestOf(clientId, verifier, more), grant: { ...at, access } },
  });

/** The code in where the browser was sent on to. */
export function codeIn(answer: Answer): string {
  assert.equal(answer.status, 200, answer.text);
  const code = new URL(answer.body.redirect_to).searchParams.get("code");
  assert.ok(code !== null, answer.text);
  return code;
}

export const codeFields = (clientId: string, code: string, verifier: string): Record<string, string> => ({
  grant_type: "authorization_code",
  client_id: clientId,
  code,
  code_verifier: verifier,
  redirect_uri: REDIRECT_URI,
});

export type Connected = { clientId: string; code: string; access: string; refresh: string };

/** Everything from the registration to the first tokens. */
export async function connectClient(server: ApiServer, options: ApproveOptions = {}): Promise<Connected> {
  const clientId = await register(server);
  const verifier = newVerifier();
  const code = codeIn(await approve(server, clientId, verifier, options));
  const { status, body, text } = await askToken(server, codeFields(clientId, code, verifier));
  assert.equal(status, 200, text);
  return { clientId, code, access: body.access_token, refresh: body.refresh_token };
}

/** The smallest request of the Model Context Protocol. */
export const ping = (server: Caller, as: string | null): Promise<Answer> =>
  server.call("POST", "/mcp", { as, body: { jsonrpc: "2.0", id: 1, method: "ping" } });

export const callTool = (server: Caller, as: string, name: string, args: object = {}): Promise<Answer> =>
  server.call("POST", "/mcp", {
    as,
    body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } },
  });
