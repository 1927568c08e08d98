// Nobody hands out a right that they do not have.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startApiServer, type Answer, type ApiServer } from "../../support/api-server.ts";
import { createReadyDeployment, promote, startWorker } from "../../support/deploy.ts";
import { addApiKey, addUser, place } from "../../support/tenancy.ts";

describe("a public access token gives what its maker has", () => {
  let server: ApiServer;
  let session: string;
  before(async () => {
    server = await startApiServer();
    const worker = await startWorker(server);
    const deployment = await createReadyDeployment(server, worker, { tasks: [], actors: [{ id: "chat" }] });
    await promote(server, deployment.id);
    session = (await server.call("POST", "/v1/sessions", { body: { actor: "chat" } })).body.id;
  });
  after(() => server.stop());

  const mint = async (type: string, as: string, at: object = {}): Promise<Answer> => {
    const stream = type === "session.input.send" ? "input" : "output";
    const scope = { type, session: { type: "id", id: session }, stream };
    return server.call("POST", "/api/public-access-tokens", { as, body: { scope, ...at } });
  };

  for (const [type, needed, other] of [
    ["session.input.send", "sessions.write", "sessions.read"],
    ["session.output.read", "sessions.read", "sessions.write"],
  ] as const) {
    test(`${type} needs ${needed}`, async () => {
      const without = await addApiKey(server, ["public_access_tokens.create", other]);
      const refused = await mint(type, without);
      assert.deepEqual(
        [refused.status, refused.body.error.code, refused.body.error.details],
        [403, "forbidden", { permission: needed }],
      );
      const key = await addApiKey(server, ["public_access_tokens.create", needed]);
      const minted = await mint(type, key);
      assert.equal(minted.status, 201, minted.text);
      assert.equal((await mint(type, await addApiKey(server, [needed]))).status, 403);
    });
  }

  test("a user gives what their role has", async () => {
    const [developer, viewer] = [await addUser(server, "developer"), await addUser(server, "viewer")];
    for (const type of ["session.input.send", "session.output.read"]) {
      assert.equal((await mint(type, developer, place(server))).status, 201);
      assert.equal((await mint(type, viewer, place(server))).status, 403);
    }
  });

  test("an API key is made by those alone who have all that a key can have", async () => {
    const { project_id, environment_id } = place(server);
    const keys = `/api/projects/${project_id}/environments/${environment_id}/api-keys`;
    const make = async (as: string): Promise<number> =>
      (await server.call("POST", keys, { as, body: { name: "one" } })).status;
    assert.deepEqual(
      [
        await make(await addUser(server, "admin")),
        await make(await addUser(server, "developer")),
        await make(await addUser(server, "viewer")),
        await make(server.credentials.api_key),
      ],
      [201, 403, 403, 401],
    );
  });
});
