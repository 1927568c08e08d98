import assert from "node:assert/strict";
import { hash } from "node:crypto";
import type { Mailbox } from "../../support/mailbox.ts";
import type { Answer } from "./caller.ts";
import type { ServerProcess, Site } from "./site.ts";

type Call = (method: string, path: string, options?: { as?: string; body?: object }) => Promise<Answer>;

/** Calls with JSON and expects the status. */
const callerOf =
  (site: Site, server: ServerProcess) =>
  async (status: number, ...[method, path, options = {}]: Parameters<Call>): Promise<Answer["body"]> => {
    const answer = await site.call(server.url, method, path, options);
    assert.equal(answer.status, status, `${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
type Expect = ReturnType<typeof callerOf>;

/** Both forms of signing in, and an invitation: each credential is mailed or shown, and used. */
async function signIn(expect: Expect, site: Site, mailbox: Mailbox): Promise<Record<string, string>> {
  const { user_token: owner } = site.credentials;
  const email = "ada@example.com";
  await expect(201, "POST", "/api/invitations", { as: owner, body: { email, role: "developer" } });
  const invitation = /#token=(\S+)/.exec(await mailbox.next(email))?.[1] ?? "";
  const accepted = await expect(200, "POST", "/api/invitations/accept", {
    as: "",
    body: { token: invitation },
  });

  const { nonce } = await expect(202, "POST", "/api/auth/magic-link/start", { as: "", body: { email } });
  const link = /finish\?token=(\S+)/.exec(await mailbox.next(email))?.[1] ?? "";
  // In the address first, as a browser that did not ask would.
  await expect(401, "GET", `/api/auth/magic-link/finish?token=${link}`, { as: "" });
  const body = { token: link, nonce };
  const opened = await expect(200, "POST", "/api/auth/magic-link/finish", { as: "", body });

  const started = await expect(200, "POST", "/api/auth/device/start", {
    as: "",
    body: { client_id: "laptop" },
  });
  const { device_code, user_code } = started;
  await expect(200, "POST", "/api/auth/device/approve", { as: opened.token, body: { user_code } });
  const grant_type = "urn:ietf:params:oauth:grant-type:device_code";
  const device = await expect(200, "POST", "/api/auth/device/token", {
    as: "",
    body: { device_code, grant_type },
  });
  return {
    invitation,
    link,
    nonce,
    device_code,
    invited_session: accepted.token,
    mailed_session: opened.token,
    device_session: device.access_token,
  };
}

/** A client is connected with a code, comes again with its refresh token, and calls a tool. */
async function connectClient(expect: Expect, site: Site): Promise<Record<string, string>> {
  const { user_token: as, project_id, environment_id } = site.credentials;
  const redirect_uri = "https://app.example.com/back";
  const registration = { client_name: "Raw client", redirect_uris: [redirect_uri] };
  const { client_id } = await expect(201, "POST", "/oauth/register", { as: "", body: registration });
  const code_verifier = "v".repeat(43);
  const request = {
    ...{ client_id, redirect_uri, response_type: "code", code_challenge_method: "S256" },
    code_challenge: hash("sha256", code_verifier, "base64url"),
  };
  const grant = { project_id, environment_id, access: "write" };
  const body = { ...request, grant };
  const approved = await expect(200, "POST", "/api/oauth-authorization", { as, body });
  const code = new URL(approved.redirect_to).searchParams.get("code") as string;
  const ask = (status: number, fields: object) =>
    expect(status, "POST", "/oauth/token", { as: "", body: { client_id, ...fields } });
  const exchange = { grant_type: "authorization_code", code, redirect_uri, code_verifier };
  await ask(400, { ...exchange, code_verifier: "w".repeat(43) });
  const first = await ask(200, exchange);
  const renewal = { grant_type: "refresh_token", refresh_token: first.refresh_token };
  const second = await ask(200, renewal);
  const call = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  await expect(200, "POST", "/mcp", { as: second.access_token, body: call });
  await expect(401, "GET", "/v1/tasks", { as: second.access_token });
  return {
    code_verifier,
    authorization_code: code,
    access_token: first.access_token,
    refresh_token: first.refresh_token,
    renewed_access_token: second.access_token,
    renewed_refresh_token: second.refresh_token,
  };
}

/** Both credentials of tokens and one of a public access token, used well and badly. */
async function completeTokens(expect: Expect): Promise<Record<string, string>> {
  const [mine, other] = [
    await expect(201, "POST", "/v1/tokens", { body: {} }),
    await expect(201, "POST", "/v1/tokens", { body: {} }),
  ];
  const callback = new URL(mine.callback_url).pathname;
  const publicPath = `/api/v1/tokens/${other.id}/complete`;
  await expect(200, "POST", callback, { as: "", body: { paid: true } });
  await expect(409, "POST", callback, { as: "", body: { paid: false } });
  await expect(400, "POST", `${callback}?again=1`, { as: "" });
  await expect(404, "POST", publicPath, { as: mine.public_access_token, body: {} });
  await expect(200, "POST", publicPath, { as: other.public_access_token, body: {} });

  const session = await expect(201, "POST", "/api/sessions", { body: { task: "shared" } });
  const scope = { type: "session.input.send", session: { type: "id", id: session.id }, stream: "input" };
  const granted = await expect(201, "POST", "/api/public-access-tokens", { body: { scope } });
  const input = `/api/v1/sessions/${session.id}/inputs/input`;
  await expect(201, "POST", input, { as: granted.public_access_token, body: { data: "hello" } });
  return {
    callback_secret: callback.split("/").at(-1) as string,
    token_of_token: mine.public_access_token,
    other_token_of_token: other.public_access_token,
    public_access_token: granted.public_access_token,
  };
}

/**
 * Has the server make a credential of every kind that it makes, and uses each: what was answered to somebody, mailed,
 * sent in a header, a body, a path or a query. Gives them by name.
 */
export async function useCredentials(
  site: Site,
  server: ServerProcess,
  mailbox: Mailbox,
): Promise<Record<string, string>> {
  const expect = callerOf(site, server);
  const { project_id, environment_id, enrollment_token, user_token } = site.credentials;
  const keys = `/api/projects/${project_id}/environments/${environment_id}/api-keys`;
  const made = await expect(201, "POST", keys, { as: user_token, body: { name: "CI" } });
  await expect(200, "GET", "/v1/tasks", { as: made.api_key });
  // Where it does not belong, it is refused and told of.
  await expect(400, "GET", `/v1/tasks?api_key=${made.api_key}`);
  await expect(404, "GET", `/v1/runs/${made.api_key}`);
  const body = { enrollment_token, name: "raw", worker_protocol_version: 1 };
  const worker = await expect(200, "POST", "/worker/v1/auth/token", { as: "", body });
  return {
    made_key: made.api_key,
    worker_token: worker.token,
    ...(await signIn(expect, site, mailbox)),
    ...(await completeTokens(expect)),
    ...(await connectClient(expect, site)),
  };
}
