import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { productionOf, startRunScene, type RunScene } from "../../support/run-scene.ts";
import { sessionKnows } from "../../support/session-scene.ts";
import { addUser, place } from "../../support/tenancy.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

let scene: RunScene;
before(async () => {
  scene = await startRunScene({
    tasks: [
      { id: "plain" },
      { id: "mailer", secrets: ["MAIL_USER", "MAIL_PASSWORD"] },
      { id: "needy", secrets: ["ABSENT"] },
      { id: "patient", secrets: ["PINNED"], retry: { initial_delay: "0s", jitter: false } },
      { id: "sleeper", secrets: ["SLEPT"] },
    ],
    actors: [{ id: "chat", secrets: ["SAID"] }],
  });
});
after(() => scene.stop());

async function create(name: string, value = "value"): Promise<Json> {
  const answer = await scene.call("POST", "/v1/secrets", { body: { name, value } });
  assert.equal(answer.status, 201, answer.text);
  return answer.body;
}

async function change(method: string, path: string, body?: object): Promise<Json> {
  const answer = await scene.call(method, path, body === undefined ? {} : { body });
  assert.ok(answer.status < 300, answer.text);
  return answer.body;
}

const refusal = async (method: string, path: string, body?: object): Promise<[number, string]> => {
  const answer = await scene.call(method, path, body === undefined ? {} : { body });
  return [answer.status, answer.body.error?.code];
};

describe("secrets", () => {
  test("are shown without their value, by id and by name", async () => {
    const { id, created_at, updated_at, ...rest } = await create("SHOWN", "the-value");
    assert.match(id, /^sec_/);
    assert.deepEqual(rest, {
      ...place(scene.server),
      ...{ name: "SHOWN", status: "active", version: 1 },
      ...{ rotated_at: null, revoked_at: null, last_used_at: null },
    });
    const expected = { id, created_at, updated_at, ...rest };
    for (const path of [`/v1/secrets/${id}`, "/api/secrets/SHOWN"])
      assert.deepEqual((await scene.call("GET", path)).body, expected);
    for (const path of ["/v1/secrets", "/api/secrets"]) {
      const { text, body } = await scene.call("GET", path);
      assert.deepEqual(body.secrets[0], expected);
      assert.ok(!text.includes("the-value"));
    }
  });

  test("have a name once in an environment", async () => {
    await create("ONCE");
    assert.deepEqual(await refusal("POST", "/v1/secrets", { name: "ONCE", value: "x" }), [
      409,
      "already_exists",
    ]);
    const production = await productionOf(scene);
    const body = { name: "ONCE", value: "x" };
    const other = await production.call("POST", "/v1/secrets", { body });
    assert.equal(other.status, 201);
    assert.equal((await scene.call("GET", `/v1/secrets/${other.body.id}`)).status, 404);
  });

  test("are created once with an idempotency key", async () => {
    const body = { name: "KEYED", value: "x", idempotency_key: "k" };
    const [first, second] = [
      await scene.call("POST", "/v1/secrets", { body }),
      await scene.call("POST", "/v1/secrets", { body }),
    ];
    assert.deepEqual([second.status, second.text], [201, first.text]);
    assert.equal(second.headers.get("idempotency-replayed"), "true");
    const other = { ...body, value: "y" };
    assert.deepEqual(await refusal("POST", "/v1/secrets", other), [409, "idempotency_conflict"]);
  });

  test("rotate, are revoked, and are revived by a PUT", async () => {
    const { id } = await create("TURNED");
    const rotated = await change("POST", `/v1/secrets/${id}/rotate`, { value: "two" });
    assert.deepEqual(
      [rotated.version, rotated.status, rotated.rotated_at],
      [2, "active", rotated.updated_at],
    );
    for (const _ of [1, 2]) {
      const revoked = await change("POST", `/v1/secrets/${id}/revoke`);
      assert.deepEqual(
        [revoked.version, revoked.status, revoked.revoked_at],
        [2, "revoked", revoked.updated_at],
      );
    }
    assert.deepEqual(await refusal("POST", `/v1/secrets/${id}/rotate`, { value: "x" }), [
      409,
      "invalid_state",
    ]);
    assert.deepEqual(await refusal("POST", "/v1/secrets", { name: "TURNED", value: "x" }), [
      409,
      "already_exists",
    ]);
    const revived = await change("PUT", "/api/secrets/TURNED", { value: "three" });
    assert.deepEqual(
      [revived.id, revived.version, revived.status, revived.revoked_at],
      [id, 3, "active", null],
    );
  });

  test("are set and deleted by name", async () => {
    const put = (value: string) => scene.call("PUT", "/api/secrets/BY_NAME", { body: { value } });
    assert.deepEqual([(await put("a")).status, (await put("b")).status], [201, 200]);
    assert.equal((await scene.call("GET", "/api/secrets/BY_NAME")).body.version, 2);
    const gone = await scene.call("DELETE", "/api/secrets/BY_NAME");
    assert.deepEqual([gone.status, gone.text], [204, ""]);
    assert.deepEqual(await refusal("DELETE", "/api/secrets/BY_NAME"), [404, "not_found"]);
    assert.equal((await put("c")).body.version, 1);
  });

  test("of one name set at the same time are one secret with as many versions", async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        scene.call("PUT", "/api/secrets/RACED", { body: { value: `${n}` } }),
      ),
    );
    assert.equal(answers.filter(({ status }) => status === 201).length, 1);
    assert.equal((await scene.call("GET", "/api/secrets/RACED")).body.version, 8);
  });

  for (const [what, name, value, status, code] of [
    ["a name that begins with a digit", "1A", "x", 400, "invalid_request"],
    ["a name with a dash", "A-B", "x", 400, "invalid_request"],
    ["an empty value", "EMPTY", "", 400, "invalid_request"],
    ["a value over 64 KiB", "LARGE", "x".repeat(65_537), 413, "payload_too_large"],
  ] as const) {
    test(`do not have ${what}`, async () => {
      assert.deepEqual(await refusal("POST", "/v1/secrets", { name, value }), [status, code]);
      assert.deepEqual(await refusal("PUT", `/api/secrets/${name}`, { value }), [status, code]);
    });
  }

  test("are not told by the refusal of a broken request", async () => {
    for (const text of [`{"value":sk-broken-secret}`, `{"value":"sk-broken-secret" x}`]) {
      const headers = { "content-type": "application/json" };
      const answer = await scene.call("PUT", "/api/secrets/BROKEN", { bytes: Buffer.from(text), headers });
      assert.equal(answer.status, 400);
      assert.ok(!answer.text.includes("broken-secret"), answer.text);
    }
  });

  test("are for users who may, where they say", async () => {
    const developer = await addUser(scene.server, "developer");
    const body = { value: "x", ...place(scene.server) };
    assert.equal((await scene.call("PUT", "/api/secrets/USERS", { as: developer, body })).status, 201);
    const viewer = await addUser(scene.server, "viewer");
    assert.equal((await scene.call("PUT", "/api/secrets/USERS", { as: viewer, body })).status, 403);
  });
});

describe("runs of a task that declares secrets", () => {
  test("are given their values with the lease, and no other run is", async () => {
    await create("MAIL_USER", "ada");
    const password = await create("MAIL_PASSWORD", 'correct horse\n"battery"');
    await scene.start("mailer");
    const lease = await scene.worker.takeOne();
    assert.deepEqual(lease.execution.secrets, {
      MAIL_USER: "ada",
      MAIL_PASSWORD: 'correct horse\n"battery"',
    });
    const used = (await scene.call("GET", `/v1/secrets/${password.id}`)).body;
    assert.ok(Date.parse(used.last_used_at) >= Date.parse(used.created_at));
    await scene.worker.finish(lease);
    await scene.start("plain");
    const plain = await scene.worker.takeOne();
    assert.deepEqual(plain.execution.secrets, {});
    await scene.worker.finish(plain);
  });

  test("are born leased with them", async () => {
    const waiting = scene.worker.take();
    const run = await scene.start("mailer");
    const [lease] = await waiting;
    assert.ok(lease !== undefined && lease.runId === run.id);
    assert.equal(lease.execution.secrets.MAIL_USER, "ada");
    await scene.worker.finish(lease);
  });

  test("fail with the reason when one is missing, revoked or deleted, and no worker gets them", async () => {
    const { id } = (await scene.call("GET", "/api/secrets/MAIL_USER")).body;
    const failure = async (task: string): Promise<Json> => {
      const run = await scene.start(task);
      assert.deepEqual((await scene.worker.lease({ wait: "0s" })).executions, []);
      const ended = await scene.get(run.id);
      assert.equal(ended.status, "failed");
      return ended.failure;
    };
    const missing = await failure("needy");
    assert.deepEqual([missing.kind, missing.retryable], ["secret_unavailable", false]);
    assert.match(missing.message, /There is no secret ABSENT.*keelson secret set ABSENT/);
    await change("POST", `/v1/secrets/${id}/revoke`);
    assert.match((await failure("mailer")).message, /MAIL_USER.*is revoked/);
    assert.equal((await scene.call("DELETE", "/api/secrets/MAIL_USER")).status, 204);
    assert.match((await failure("mailer")).message, /There is no secret MAIL_USER/);
  });

  test("keep the version of an attempt when it is leased again, and take the newest with the next attempt", async () => {
    const { id } = await create("PINNED", "one");
    const run = await scene.start("patient");
    const first = await scene.worker.takeOne();
    assert.equal(first.execution.secrets.PINNED, "one");
    await change("POST", `/v1/secrets/${id}/rotate`, { value: "two" });
    // Handed back before it began: the same attempt is leased again.
    assert.deepEqual(await scene.worker.report(first.operation("release", { outcome: "rejected" })), [200]);
    const again = await scene.worker.takeOne();
    assert.deepEqual([again.execution.run.attempt_number, again.execution.secrets.PINNED], [1, "one"]);
    const failed = { kind: "application_error", message: "no", retryable: true };
    await scene.worker.finish(again, "failed", { failure: failed });
    await scene.happens(run.id, "run.queued", "5");
    const next = await scene.worker.takeOne();
    assert.deepEqual([next.execution.run.attempt_number, next.execution.secrets.PINNED], [2, "two"]);
    await scene.worker.finish(next);
  });

  test("fail when the value they began with is destroyed meanwhile", async () => {
    const { id } = (await scene.call("GET", "/api/secrets/PINNED")).body;
    const run = await scene.start("patient");
    const first = await scene.worker.takeOne();
    await change("POST", `/v1/secrets/${id}/revoke`);
    await change("PUT", "/api/secrets/PINNED", { value: "new" });
    await scene.worker.report(first.operation("release", { outcome: "rejected" }));
    assert.deepEqual((await scene.worker.lease({ wait: "0s" })).executions, []);
    assert.match((await scene.get(run.id)).failure.message, /PINNED that this attempt began with is gone/);
  });

  test("are given the same when they go on after a suspension, whatever was set meanwhile", async () => {
    const { id } = await create("SLEPT", "one");
    await scene.start("sleeper");
    const lease = await scene.worker.takeOne();
    assert.equal(lease.execution.secrets.SLEPT, "one");
    const timer = { position: 1, name: "timer", kind: "timer", timeout: "3m" };
    const answers = await scene.worker.report(
      lease.operation("start"),
      lease.operation("waits", { waits: [timer], parked: true }),
      lease.operation("checkpoints/ready"),
      lease.operation("release", { outcome: "suspended" }),
    );
    assert.deepEqual(answers, [200, 200, 200, 200]);
    await change("POST", `/v1/secrets/${id}/rotate`, { value: "two" });
    scene.clock.advance(180_000);
    const resumed = await scene.worker.takeOne();
    assert.deepEqual([resumed.execution.run.attempt_number, resumed.execution.secrets.SLEPT], [1, "one"]);
    assert.equal(resumed.execution.waits[0].status, "resolved");
    await scene.worker.finish(resumed);
  });

  test("of an actor are given in each turn, and a session is told of one that cannot have them", async () => {
    await create("SAID", "first");
    const started = await scene.call("POST", "/api/sessions", { body: { actor: "chat", input: 1 } });
    assert.equal(started.status, 201, started.text);
    const session = started.body;
    const send = () => scene.call("POST", `/api/sessions/${session.id}/inputs/input`, { body: { data: 2 } });
    const first = await scene.worker.takeOne();
    assert.deepEqual(first.execution.secrets, { SAID: "first" });
    await scene.worker.finish(first);
    await sessionKnows(scene, first.runId);
    await change("PUT", "/api/secrets/SAID", { value: "second" });
    assert.equal((await send()).status, 201);
    const second = await scene.worker.takeOne();
    assert.deepEqual([second.execution.run.turn, second.execution.secrets], [2, { SAID: "second" }]);
    await scene.worker.finish(second);
    await sessionKnows(scene, second.runId);
    await change("DELETE", "/api/secrets/SAID");
    assert.equal((await send()).status, 201);
    assert.deepEqual((await scene.worker.lease({ wait: "0s" })).executions, []);
    const { runs } = (await scene.call("GET", `/api/sessions/${session.id}/runs`)).body;
    assert.deepEqual([runs[0].turn, runs[0].failure.kind], [3, "secret_unavailable"]);
    await sessionKnows(scene, runs[0].id);
  });
});
