// A credential that another route takes: the answer says what it is, and what this route takes.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApiServer, type ApiServer } from "../support/api-server.ts";
import { addUser } from "../support/tenancy.ts";

let server: ApiServer;
before(async () => {
  server = await startApiServer();
});
after(() => server.stop());

test("a wrong kind of credential is named, with what the route takes", async () => {
  const { api_key, user_token, admin_key, capacity_key, enrollment_token } = server.credentials;
  const member = await addUser(server, "owner");
  for (const [path, as, taken, shown] of [
    ["/v1/runs", user_token, "an API key", "the session of a user"],
    ["/v1/runs", enrollment_token, "an API key", "an enrollment token, which a worker exchanges for its own"],
    ["/api/runs", admin_key, "an API key or the session of a user", "an admin key"],
    ["/api/members", api_key, "the session of a user", "an API key"],
    [
      "/admin/api/v1/worker-groups",
      capacity_key,
      "an admin key or the session of an administrator",
      "a capacity key",
    ],
    [
      "/admin/api/v1/worker-groups",
      member,
      "an admin key or the session of an administrator",
      "the session of a user",
    ],
  ] as const) {
    const { status, body } = await server.call("GET", path, { as });
    assert.deepEqual(
      [status, body.error.code, body.error.message],
      [401, "unauthenticated", `This route takes ${taken}. The credential is ${shown}.`],
    );
  }
});

test("what is no valid credential is told the same of every route", async () => {
  for (const as of ["garbage", `${server.credentials.user_token}x`])
    assert.match(
      (await server.call("GET", "/v1/runs", { as })).body.error.message,
      /missing, unknown, expired or revoked/,
    );
});
