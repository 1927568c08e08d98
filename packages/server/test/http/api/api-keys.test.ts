import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ENVIRONMENT_PERMISSIONS } from "@keelson/contract";
import { createTestClock, type TestClock } from "../../support/test-clock.ts";
import { startApiServer, type Answer, type ApiServer } from "../../support/api-server.ts";
import { until } from "../../support/until.ts";

describe("API keys", () => {
  let server: ApiServer;
  let clock: TestClock;
  let path: string;
  const call = (method: string, at: string, body?: unknown): Promise<Answer> =>
    server.call(method, at, {
      as: server.credentials.user_token,
      ...(body === undefined ? {} : { body }),
    });
  before(async () => {
    clock = createTestClock();
    server = await startApiServer({ clock: clock.now });
    const { project_id, environment_id } = server.credentials;
    path = `/api/projects/${project_id}/environments/${environment_id}/api-keys`;
  });
  after(() => server.stop());

  test("a key is shown once and never stored", async () => {
    const created = await call("POST", path, { name: "CI", permissions: ["tasks.read"] });
    assert.equal(created.status, 201, created.text);
    const { api_key, ...key } = created.body;
    assert.match(api_key, /^kl_key_[0-9A-Za-z]{38}$/);
    assert.deepEqual((await call("GET", `${path}/${key.id}`)).body, key);
    const list = await call("GET", path);
    assert.deepEqual(list.body.api_keys[0], key);
    assert.ok(!list.text.includes(api_key));
    assert.equal((await server.call("GET", "/v1/tasks", { as: api_key })).status, 200);
    const refused = await server.call("GET", "/v1/runs", { as: api_key });
    assert.deepEqual([refused.status, refused.body.error.details], [403, { permission: "runs.read" }]);
  });

  test("it holds what a developer does unless it is given less, and never what is a person's", async () => {
    const { body } = await call("POST", path, { name: "All" });
    assert.deepEqual(body.permissions, [...ENVIRONMENT_PERMISSIONS]);
    assert.deepEqual([body.expires_at, body.last_used_at, body.revoked_at], [null, null, null]);
    for (const permissions of [["api_keys.write"], ["members.read"], ["nonsense"]]) {
      const refused = await call("POST", path, { name: "Too much", permissions });
      assert.deepEqual([refused.status, refused.body.error.code], [400, "invalid_request"]);
    }
    for (const expires_in of ["0s", "4000d", "soon"])
      assert.equal((await call("POST", path, { name: "Odd", expires_in })).status, 400, expires_in);
  });

  test("it is refused once its time is over, and when it is revoked", async () => {
    const { body: short } = await call("POST", path, { name: "Short", expires_in: "1h" });
    const { body: revoked } = await call("POST", path, { name: "Revoked" });
    const use = async (as: string): Promise<number> => (await server.call("GET", "/v1/tasks", { as })).status;
    assert.deepEqual([await use(short.api_key), await use(revoked.api_key)], [200, 200]);
    assert.equal((await call("DELETE", `${path}/${revoked.id}`)).status, 204);
    assert.equal((await call("DELETE", `${path}/${revoked.id}`)).status, 204);
    clock.advance(3_600_000);
    assert.deepEqual([await use(short.api_key), await use(revoked.api_key)], [401, 401]);
    const ids = (await call("GET", path)).body.api_keys.map((key: { id: string }) => key.id);
    assert.ok(ids.includes(short.id) && !ids.includes(revoked.id));
    assert.notEqual((await call("GET", `${path}/${revoked.id}`)).body.revoked_at, null);
  });

  test("when it was last used is written later and to the minute", { timeout: 60_000 }, async () => {
    const { body: key } = await call("POST", path, { name: "Used" });
    const use = () => server.call("GET", "/v1/tasks", { as: key.api_key });
    const lastUsed = async (): Promise<string | null> =>
      (await call("GET", `${path}/${key.id}`)).body.last_used_at;
    const untilOther = async (before: string | null): Promise<string | null> => {
      let now = before;
      await until("another time to be noted", 60_000, async () => (now = await lastUsed()) !== before);
      return now;
    };
    const isNear = (text: string | null, ms: number): boolean =>
      text !== null && Math.abs(Date.parse(text) - ms) < 5_000;
    const first = clock.now();
    assert.equal((await use()).status, 200);
    assert.equal(await lastUsed(), null);
    const written = await untilOther(null);
    assert.ok(isNear(written, first), `${written}`);
    // Thirty seconds later is the same minute's use; the next one is written over it.
    clock.advance(30_000);
    await use();
    clock.advance(31_000);
    const second = clock.now();
    await use();
    const rewritten = await untilOther(written);
    assert.ok(isNear(rewritten, second), `${rewritten}`);
  });
});
