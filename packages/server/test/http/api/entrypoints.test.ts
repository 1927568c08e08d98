// Tasks, actors and sandboxes on /api: as on /v1, for users too.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { CallOptions } from "../../support/api-server.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import { addForeignPlace, addUser, place } from "../../support/tenancy.ts";

const MANIFEST = {
  tasks: [{ id: "report", payload_schema: { type: "object", required: ["week"] } }],
  actors: [{ id: "chat" }],
  sandboxes: [{ id: "node" }],
};

let scene: RunScene;
before(async () => {
  scene = await startRunScene(MANIFEST);
});
after(() => scene.stop());

/** As the first user, who says where to act. */
function callAsUser(method: string, path: string, body: object = {}, as?: string) {
  const { server } = scene;
  const options: CallOptions = { as: as ?? server.credentials.user_token };
  const selection = place(server);
  return method === "GET"
    ? server.call(method, `${path}?${new URLSearchParams(selection).toString()}`, options)
    : server.call(method, path, { ...options, body: { ...selection, ...body } });
}

describe("what is declared", () => {
  test("is listed and found by a user as by a key on /v1", async () => {
    for (const name of ["tasks", "actors", "sandboxes"]) {
      const byKey = await scene.call("GET", `/v1/${name}`);
      const byUser = await callAsUser("GET", `/api/${name}`);
      assert.deepEqual([byUser.status, byUser.body], [200, byKey.body]);
      assert.deepEqual((await scene.call("GET", `/api/${name}`)).body, byKey.body);
      const [{ id }] = byKey.body[name];
      const item = await callAsUser("GET", `/api/${name}/${id}`);
      assert.deepEqual([item.status, item.body], [200, byKey.body[name][0]]);
    }
  });

  test("is not told to a user who says nothing of where, nor of another tenant's place", async () => {
    const as = scene.server.credentials.user_token;
    const { project_id, environment_id } = await addForeignPlace(scene.server);
    const there = new URLSearchParams({ project_id, environment_id }).toString();
    for (const name of ["tasks", "actors", "sandboxes"]) {
      const nowhere = await scene.call("GET", `/api/${name}`, { as });
      assert.deepEqual([nowhere.status, nowhere.body.error.code], [400, "invalid_request"]);
      assert.equal((await scene.call("GET", `/api/${name}?${there}`, { as })).status, 404);
    }
  });
});

describe("a user's start", () => {
  test("of a task makes a run, checked as any start", async () => {
    const started = await callAsUser("POST", "/api/tasks/report/start", {
      payload: { week: 47 },
      tags: ["by-hand"],
    });
    assert.equal(started.status, 201, started.text);
    assert.deepEqual(
      [started.body.task, started.body.payload, started.body.tags],
      ["report", { week: 47 }, ["by-hand"]],
    );
    assert.equal((await scene.get(started.body.id)).id, started.body.id);
    const refused = await callAsUser("POST", "/api/tasks/report/start", { payload: {} });
    assert.deepEqual([refused.status, refused.body.error.code], [400, "invalid_payload"]);
    assert.equal((await callAsUser("POST", "/api/tasks/absent/start")).status, 404);
  });

  test("with a key that was used starts nothing, on whichever family it was", async () => {
    const body = { payload: { week: 48 }, idempotency_key: "week-48" };
    const first = await scene.call("POST", "/v1/tasks/report/start", { body });
    const again = await callAsUser("POST", "/api/tasks/report/start", body);
    assert.deepEqual([first.status, again.status], [201, 201]);
    assert.equal(again.headers.get("idempotency-replayed"), "true");
    assert.deepEqual(again.body, first.body);
  });

  test("of an actor makes a session with its first run", async () => {
    const started = await callAsUser("POST", "/api/actors/chat/start", {
      input: "Hello",
      session: { external_id: "by-hand" },
    });
    assert.equal(started.status, 201, started.text);
    assert.deepEqual(
      [started.body.session.external_id, started.body.run.actor, started.body.run.session_id],
      ["by-hand", "chat", started.body.session.id],
    );
  });

  test("is refused to a viewer, who may look", async () => {
    const viewer = await addUser(scene.server, "viewer");
    assert.equal((await callAsUser("GET", "/api/tasks", {}, viewer)).status, 200);
    for (const path of ["/api/tasks/report/start", "/api/actors/chat/start"]) {
      const refused = await callAsUser("POST", path, {}, viewer);
      assert.deepEqual([refused.status, refused.body.error.code], [403, "forbidden"]);
    }
  });
});
