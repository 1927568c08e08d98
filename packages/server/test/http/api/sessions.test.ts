import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import {
  cancelSessions,
  endTurn,
  getSession,
  records,
  send,
  sessionKnows,
  startSession,
} from "../../support/session-scene.ts";

const MANIFEST = {
  tasks: [{ id: "plain" }],
  actors: [
    { id: "chat", retry: { max_attempts: 1 } },
    { id: "other" },
    { id: "strict", payload_schema: { type: "object", required: ["topic"] } },
  ],
  queues: [{ name: "narrow", concurrency_limit: 1 }],
};

let scene: RunScene;
before(async () => {
  scene = await startRunScene(MANIFEST);
});
after(() => scene.stop());
afterEach(() => cancelSessions(scene));

const create = (body: object, headers: Record<string, string> = {}) =>
  scene.call("POST", "/api/sessions", { body, headers });
const code = async (answer: ReturnType<RunScene["call"]>): Promise<[number, string]> => {
  const { status, body } = await answer;
  return [status, body.error?.code];
};

describe("a session", () => {
  test("is created with its first run and its first input in one step", async () => {
    const session = await startSession(scene, {
      payload: { topic: "parcels" },
      input: { text: "hello" },
      external_id: "first",
      metadata: { customer: 1.5 },
      tags: ["support"],
      priority: 5,
      delay: "0s",
    });
    assert.deepEqual(
      [session.status, session.activity, session.turn, session.actor, session.task, session.external_id],
      ["open", "queued", 1, "chat", null, "first"],
    );
    assert.deepEqual([session.metadata, session.tags], [{ customer: 1.5 }, ["support"]]);
    const run = await scene.get(session.current_run_id);
    assert.deepEqual(
      [run.session_id, run.turn, run.actor, run.payload, run.tags, run.metadata, run.priority],
      [session.id, 1, "chat", { topic: "parcels" }, ["support"], {}, 5],
    );
    const page = await records(scene, `/api/sessions/${session.id}/inputs/input`);
    assert.deepEqual(
      page.records.map(({ sequence, data, source }: never) => [
        sequence,
        data,
        (source as { kind: string }).kind,
      ]),
      [[1, { text: "hello" }, "api"]],
    );
    const item = await getSession(scene, session.id);
    assert.equal(item.status_reason.kind, "worker_busy");
    assert.deepEqual({ ...item, status_reason: null }, session);
  });

  test("is the open one with its external id, untouched, until that has ended", async () => {
    const first = await startSession(scene, { external_id: "same", metadata: { a: 1 } });
    const again = await create({ actor: "chat", external_id: "same", metadata: { a: 2 }, input: "ignored" });
    assert.deepEqual([again.status, again.body.id, again.body.metadata], [200, first.id, { a: 1 }]);
    assert.deepEqual((await records(scene, `/api/sessions/${first.id}/streams`)).streams, []);
    assert.deepEqual(await code(create({ actor: "other", external_id: "same" })), [409, "session_conflict"]);
    assert.deepEqual(await code(create({ task: "plain", external_id: "same" })), [409, "session_conflict"]);
    await scene.call("POST", `/api/sessions/${first.id}/close`);
    const second = await startSession(scene, { external_id: "same" });
    assert.notEqual(second.id, first.id);
    const found = await scene.call("GET", "/api/sessions/by-external-id?external_id=same");
    assert.equal(found.body.id, second.id);
    await scene.call("POST", `/api/sessions/${second.id}/close`);
    assert.equal(
      (await scene.call("GET", "/api/sessions/by-external-id?external_id=same")).body.id,
      second.id,
    );
    const { sessions } = (await scene.call("GET", "/api/sessions?external_id=same")).body;
    assert.deepEqual(
      sessions.map(({ id }: { id: string }) => id),
      [second.id, first.id],
    );
    assert.equal((await scene.call("GET", "/api/sessions/first")).status, 404);
  });

  test("is one, however many are created at once with an external id", async () => {
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, n) => create({ actor: "chat", external_id: "raced", input: n })),
    );
    assert.equal(new Set(answers.map(({ body }) => body.id)).size, 1);
    assert.equal(answers.filter(({ status }) => status === 200).length, 23);
    assert.equal(answers.filter(({ status }) => status === 201).length, 1);
    const { runs } = (await scene.call("GET", `/api/sessions/${answers[0]?.body.id}/runs`)).body;
    assert.equal(runs.length, 1);
  });

  test("answers a repeat of its key with the first answer, also when it cannot be started any more", async () => {
    const first = await create({ actor: "chat", idempotency_key: "once" });
    assert.equal(first.status, 201);
    const repeat = await create({ actor: "chat" }, { "idempotency-key": "once" });
    assert.deepEqual(
      [repeat.status, repeat.text, repeat.headers.get("idempotency-replayed")],
      [201, first.text, "true"],
    );
    assert.deepEqual(await code(create({ actor: "other", idempotency_key: "once" })), [
      409,
      "idempotency_conflict",
    ]);
    const open = await startSession(scene, { external_id: "kept" });
    await scene.deploy({ tasks: [{ id: "plain" }], actors: [{ id: "other" }] });
    try {
      assert.equal((await create({ actor: "chat", idempotency_key: "once" })).text, first.text);
      assert.equal((await create({ actor: "chat", external_id: "kept" })).body.id, open.id);
      assert.deepEqual(await code(create({ actor: "chat" })), [404, "not_found"]);
    } finally {
      await scene.deploy(MANIFEST);
    }
  });

  test("is refused with what to do", async () => {
    for (const [body, status, error, words] of [
      [{}, 400, "invalid_request", /send actor, or task/],
      [{ actor: "chat", task: "plain" }, 400, "invalid_request", /either task or actor/],
      [{ actor: "missing" }, 404, "not_found", /Declared there: chat, other, strict/],
      [{ actor: "strict" }, 400, "invalid_payload", /must be object/],
      [{ actor: "chat", expires_at: "2020-01-01T00:00:00Z" }, 400, "invalid_request", /future/],
      [{ actor: "chat", external_id: "é".repeat(200) }, 400, "invalid_request", /256 bytes/],
      [{ actor: "chat", metadata: { a: "x".repeat(20_000) } }, 413, "payload_too_large", /metadata/],
      [{ actor: "chat", input: "x".repeat(300_000) }, 413, "payload_too_large", /input/],
    ] as const) {
      const answer = await create(body);
      assert.deepEqual([answer.status, answer.body.error?.code], [status, error], answer.text);
      assert.match(answer.body.error.message, words);
    }
  });

  test("is changed by PATCH, and what it does not name stays", async () => {
    const session = await startSession(scene, { metadata: { a: 1 }, tags: ["x"] });
    const path = `/api/sessions/${session.id}`;
    const patched = await scene.call("PATCH", path, {
      body: { metadata: { b: 2 }, expires_at: "2100-01-01T00:00:00.000Z" },
    });
    assert.equal(patched.status, 200, patched.text);
    assert.deepEqual(
      [patched.body.metadata, patched.body.tags, patched.body.expires_at],
      [{ b: 2 }, ["x"], "2100-01-01T00:00:00.000Z"],
    );
    const cleared = await scene.call("PATCH", path, { body: { tags: [], expires_at: null } });
    assert.deepEqual(
      [cleared.body.metadata, cleared.body.tags, cleared.body.expires_at],
      [{ b: 2 }, [], null],
    );
    await scene.call("POST", `${path}/close`);
    assert.equal((await scene.call("PATCH", path, { body: { metadata: {} } })).status, 200);
    assert.deepEqual(await code(scene.call("PATCH", path, { body: { expires_at: null } })), [
      409,
      "invalid_state",
    ]);
  });

  test("closes once, takes no more, and leaves its run to finish", async () => {
    const session = await startSession(scene, { input: 1 });
    const lease = await scene.worker.takeOne();
    const closed = await scene.call("POST", `/api/sessions/${session.id}/close`, {
      body: { reason: "enough" },
    });
    assert.deepEqual(
      [closed.body.status, closed.body.close_reason, closed.body.activity],
      ["closed", "enough", "running"],
    );
    const again = await scene.call("POST", `/api/sessions/${session.id}/close`, {
      body: { reason: "other" },
    });
    assert.deepEqual([again.status, again.body.close_reason], [200, "enough"]);
    assert.deepEqual(await code(send(scene, session, 2)), [409, "session_closed"]);
    assert.deepEqual(
      await code(scene.call("POST", `/api/sessions/${session.id}/outputs/new`, { body: { data: 1 } })),
      [409, "session_closed"],
    );
    assert.deepEqual(await code(scene.call("POST", `/api/sessions/${session.id}/cancel`)), [
      409,
      "invalid_state",
    ]);
    await scene.worker.finish(lease);
    await sessionKnows(scene, lease.runId);
    const ended = await getSession(scene, session.id);
    assert.deepEqual([ended.status, ended.activity], ["closed", "idle"]);
  });

  test("is cancelled with its live run, whatever that does", async () => {
    const queued = await startSession(scene);
    const cancelled = await scene.call("POST", `/api/sessions/${queued.id}/cancel`);
    assert.deepEqual([cancelled.body.status, cancelled.body.activity], ["cancelled", "idle"]);
    assert.equal((await scene.get(queued.current_run_id)).status, "cancelled");
    assert.equal((await scene.call("POST", `/api/sessions/${queued.id}/cancel`)).status, 200);
    assert.deepEqual(await code(scene.call("POST", `/api/sessions/${queued.id}/close`)), [
      409,
      "invalid_state",
    ]);
    const running = await startSession(scene);
    await scene.worker.takeOne();
    assert.equal((await scene.call("POST", `/api/sessions/${running.id}/cancel`)).body.activity, "running");
    assert.equal((await scene.get(running.current_run_id)).status, "cancel_requested");
    const idle = await startSession(scene);
    await scene.worker.releaseAll();
    await endTurn(scene, idle);
    assert.equal((await scene.call("POST", `/api/sessions/${idle.id}/cancel`)).body.status, "cancelled");
    assert.equal((await scene.get(idle.current_run_id)).status, "succeeded");
  });

  test("expires when its time is over, and its external id is free", async () => {
    const at = new Date(scene.clock.now() + 60_000).toISOString();
    const session = await startSession(scene, { external_id: "brief", expires_at: at });
    await scene.call("POST", `/v1/runs/${session.current_run_id}/cancel`);
    scene.clock.advance(61_000);
    const read = await scene.call("GET", `/api/sessions/${session.id}/outputs/output/read?wait=20s`);
    assert.deepEqual(read.body, { records: [], next_cursor: null, ended: true });
    const expired = await getSession(scene, session.id);
    assert.deepEqual([expired.status, typeof expired.closed_at], ["expired", "string"]);
    await startSession(scene, { external_id: "brief" });
  });

  test("is listed by what it is, page by page", async () => {
    const made: { id: string }[] = [];
    for (let n = 0; n < 5; n += 1) made.push(await startSession(scene, { actor: "other" }));
    await scene.call("POST", `/api/sessions/${made[1]?.id}/close`);
    const idsOf = async (query: string): Promise<string[]> =>
      (await records(scene, `/api/sessions?${query}`)).sessions.map(({ id }: { id: string }) => id);
    assert.deepEqual(
      await idsOf("actor=other&status=open"),
      [4, 3, 2, 0].map((n) => made[n]?.id),
    );
    assert.deepEqual(await idsOf("actor=other&status=closed&status=failed"), [made[1]?.id]);
    assert.deepEqual(await idsOf("task=other"), []);
    const tagged = await startSession(scene, { tags: ["vip", "billing"] });
    await startSession(scene, { tags: ["vip"] });
    assert.deepEqual(await idsOf("tag=vip&tag=billing"), [tagged.id]);
    const first = await records(scene, "/api/sessions?actor=other&limit=3");
    const rest = await idsOf(`actor=other&limit=3&cursor=${first.next_cursor}`);
    assert.deepEqual(
      [...first.sessions.map(({ id }: { id: string }) => id), ...rest],
      [4, 3, 2, 1, 0].map((n) => made[n]?.id),
    );
    assert.deepEqual(await code(scene.call("GET", "/api/sessions?cursor=abc")), [400, "invalid_cursor"]);
  });
});

describe("an actor", () => {
  test("is listed, found by its id, and started by its declared id", async () => {
    const { actors } = await records(scene, "/v1/actors");
    assert.deepEqual(actors.map((actor: { declared_id: string }) => actor.declared_id).sort(), [
      "chat",
      "other",
      "strict",
    ]);
    const { body } = await scene.call("GET", `/v1/actors/${actors[0].id}`);
    assert.deepEqual(body, actors[0]);
    assert.equal(
      (await scene.call("GET", `/v1/actors/${actors[0].id.replace("actor_", "task_")}`)).status,
      404,
    );
    const started = await scene.call("POST", "/v1/actors/chat/start", {
      body: {
        input: "hi",
        payload: 1,
        metadata: { of: "run" },
        tags: ["run"],
        session: { external_id: "actor", metadata: { of: "session" }, tags: ["session"] },
        idempotency_key: "actor",
      },
    });
    assert.equal(started.status, 201, started.text);
    const { session, run } = started.body;
    assert.deepEqual(
      [session.metadata, session.tags, run.metadata, run.tags, run.payload, run.session_id, run.turn],
      [{ of: "session" }, ["session"], { of: "run" }, ["session", "run"], 1, session.id, 1],
    );
    const again = await scene.call("POST", "/v1/actors/chat/start", {
      body: { session: { external_id: "actor" } },
    });
    assert.deepEqual([again.status, again.body.session.id, again.body.run.id], [200, session.id, run.id]);
    assert.equal((await scene.call("POST", "/v1/actors/plain/start", { body: {} })).status, 404);
  });
});

describe("start-and-wait", () => {
  const start = (body: object) =>
    scene.call("POST", "/api/sessions/start-and-wait", { body: { actor: "chat", ...body } });

  test("waits for the run's end", async () => {
    const waiting = start({ input: "q", external_id: "waited" });
    const lease = await scene.worker.takeOne();
    await scene.worker.finish(lease, "succeeded", { output: { answer: 42 } });
    const { status, body } = await waiting;
    assert.equal(status, 200);
    assert.deepEqual(
      [body.timed_out, body.run.id, body.run.status, body.run.output, body.session.external_id],
      [false, lease.runId, "succeeded", { answer: 42 }, "waited"],
    );
  });

  test("times out without harm, and waits again by external id or key", async () => {
    const body = { external_id: "again", idempotency_key: "again" };
    const first = await start({ ...body, timeout: "1ms" });
    assert.deepEqual([first.status, first.body.timed_out, first.body.run.status], [200, true, "queued"]);
    const byId = start({ external_id: "again", timeout: "20s" });
    const byKey = start({ ...body, timeout: "30s" });
    const lease = await scene.worker.takeOne();
    await scene.worker.finish(lease);
    for (const { body: ended } of await Promise.all([byId, byKey])) {
      assert.deepEqual(
        [ended.timed_out, ended.run.id, ended.run.status],
        [false, first.body.run.id, "succeeded"],
      );
    }
    assert.equal((await byKey).headers.get("idempotency-replayed"), "true");
    assert.deepEqual(await code(start({ timeout: "11m" })), [400, "invalid_request"]);
  });

  test("cancels nothing when the caller hangs up", async () => {
    const abort = new AbortController();
    const waiting = fetch(`${scene.server.url}/api/sessions/start-and-wait`, {
      method: "POST",
      signal: abort.signal,
      headers: {
        authorization: `Bearer ${scene.server.credentials.api_key}`,
        "content-type": "application/json",
      },
      body: JSON.stringify({ actor: "chat", external_id: "hung-up" }),
    });
    const lease = await scene.worker.takeOne();
    abort.abort();
    await assert.rejects(waiting);
    assert.equal((await scene.get(lease.runId)).status, "running");
    await scene.worker.finish(lease);
    assert.equal((await start({ external_id: "hung-up" })).body.run.status, "succeeded");
  });
});
