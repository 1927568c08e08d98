// What people decide of single runs, sessions and tokens is in the audit log; what keys do is not.

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { encodeId, type AuditEvent } from "@keelson/contract";
import { exportedEvents } from "../../support/audit.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import { addPerson, firstOrganization } from "../../support/tenancy.ts";

let scene: RunScene;
let organization: string;
let person: { token: string; user_id: string };
let place: { project_id: string; environment_id: string };
let auditedBefore = 0;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "work" }], actors: [{ id: "chat" }] });
  organization = encodeId("org", await firstOrganization(scene.server));
  person = await addPerson(scene.server, "developer");
  const { project_id, environment_id } = scene.server.credentials;
  place = { project_id, environment_id };
});
after(() => scene.stop());
beforeEach(async () => {
  auditedBefore = (await exportedEvents(scene.server, organization)).length;
});

const asPerson = async (path: string, body: object = {}): Promise<number> =>
  (await scene.server.call("POST", `/api${path}`, { as: person.token, body: { ...place, ...body } })).status;
const byKey = async (path: string, body: object = {}): Promise<number> =>
  (await scene.server.call("POST", `/v1${path}`, { body })).status;

/** What was audited since the test began, as `who action what`. */
async function audited(): Promise<string[]> {
  const events: AuditEvent[] = (await exportedEvents(scene.server, organization)).slice(auditedBefore);
  return events.map(({ actor, action, resource, environment_id }) => {
    assert.equal(environment_id, place.environment_id);
    return `${actor.id} ${action} ${resource.kind} ${resource.id}`;
  });
}

async function newToken(): Promise<string> {
  const { status, body } = await scene.server.call("POST", "/v1/tokens", { body: { timeout: "1h" } });
  assert.equal(status, 201);
  return body.id;
}

async function newSession(): Promise<string> {
  const { status, body } = await scene.server.call("POST", "/v1/actors/chat/start", {
    body: { input: "hi" },
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body.session.id;
}

describe("the audit log has what a person decides of", () => {
  test("a run: that it was cancelled, once", async () => {
    const run = await scene.start("work", {});
    assert.equal(await asPerson(`/runs/${run.id}/cancel`), 200);
    assert.equal(await asPerson(`/runs/${run.id}/cancel`), 200);
    assert.deepEqual(await audited(), [`${person.user_id} runs.cancel run ${run.id}`]);
  });

  test("a running run: that they asked for its end, once", async () => {
    const run = await scene.start("work", {});
    const lease = await scene.worker.takeOne();
    await scene.worker.report(lease.operation("start"));
    assert.equal(await asPerson(`/runs/${run.id}/cancel`), 200);
    assert.equal(await asPerson(`/runs/${run.id}/cancel`), 200);
    assert.deepEqual(await audited(), [`${person.user_id} runs.cancel run ${run.id}`]);
    await scene.worker.report(lease.operation("release", { outcome: "cancelled" }));
  });

  test("a token: that they completed or cancelled it, once", async () => {
    const [completed, cancelled] = [await newToken(), await newToken()];
    const complete = () => asPerson(`/tokens/${completed}/complete`, { data: { approved: true } });
    assert.deepEqual(await Promise.all([complete(), complete(), complete()]), [200, 200, 200]);
    assert.equal(await asPerson(`/tokens/${completed}/complete`, { data: { approved: false } }), 409);
    assert.equal(await asPerson(`/tokens/${cancelled}/cancel`), 200);
    assert.equal(await asPerson(`/tokens/${cancelled}/cancel`), 200);
    assert.deepEqual(await audited(), [
      `${person.user_id} tokens.complete token ${completed}`,
      `${person.user_id} tokens.cancel token ${cancelled}`,
    ]);
  });

  test("a session: that they closed or cancelled it, once", async () => {
    const [closed, cancelled] = [await newSession(), await newSession()];
    for (let times = 0; times < 2; times += 1) {
      assert.equal(await asPerson(`/sessions/${closed}/close`), 200);
      assert.equal(await asPerson(`/sessions/${cancelled}/cancel`), 200);
    }
    assert.deepEqual(await audited(), [
      `${person.user_id} sessions.close session ${closed}`,
      `${person.user_id} sessions.cancel session ${cancelled}`,
    ]);
  });
});

test("what a key does to runs, sessions and tokens is not in the audit log", async () => {
  const run = await scene.start("work", {});
  const [completed, cancelled] = [await newToken(), await newToken()];
  const session = await newSession();
  assert.deepEqual(
    [
      await byKey(`/runs/${run.id}/cancel`),
      await byKey(`/tokens/${completed}/complete`, { data: 1 }),
      await byKey(`/tokens/${cancelled}/cancel`),
      await byKey(`/sessions/${session}/cancel`),
    ],
    [200, 200, 200, 200],
  );
  assert.deepEqual(await audited(), []);
});
