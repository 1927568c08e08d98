// What the OpenAPI document promises of numbers, cursors, methods and waits. `support/check-answer.ts` holds every other
// answer of the HTTP tests to the document.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { encodeId } from "@keelson/contract";
import { request } from "node:http";
import { checkAnswer } from "../support/check-answer.ts";
import { operations } from "../contract/support/document.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { startSession } from "../support/session-scene.ts";

let scene: RunScene;
let selection: string;
const get = (path: string) => scene.call("GET", path);

before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }, { id: "other" }], actors: [{ id: "chat" }] });
  const { project_id, environment_id } = scene.server.credentials;
  selection = `project_id=${project_id}&environment_id=${environment_id}`;
});
after(() => scene.stop());

describe("an answer that the document does not declare", () => {
  const answer = { method: "GET", path: "/v1/runs", contentType: "application/json; charset=utf-8" };

  test("fails the test that got it: by its status, its body, its media type, its operation", () => {
    const page = JSON.stringify({ runs: [], next_cursor: null });
    checkAnswer({ ...answer, status: 200, text: page });
    assert.throws(() => checkAnswer({ ...answer, status: 418, text: page }), /does not declare/);
    assert.throws(() => checkAnswer({ ...answer, status: 200, text: '{"runs":[]}' }), /does not describe/);
    assert.throws(
      () => checkAnswer({ ...answer, status: 200, text: page, contentType: "text/csv" }),
      /text\/csv/,
    );
    assert.throws(() => checkAnswer({ ...answer, path: "/v1/none", status: 200, text: page }), /is not in/);
    assert.throws(() => checkAnswer({ ...answer, status: 401, text: '{"error":"no"}' }), /does not describe/);
  });
});

describe("the limit of a list", () => {
  const limited = operations.filter(({ operation }) =>
    operation.parameters.some(
      ({ in: where, name }: { in: string; name: string }) => where === "query" && name === "limit",
    ),
  );

  test("is an integer in decimal digits, on every list", async () => {
    assert.ok(limited.length > 40, `${limited.length} lists`);
    const { credentials, call } = scene.server;
    // Whoever may call the list; its limit is looked at before what its path names.
    const callers = [
      credentials.api_key,
      credentials.user_token,
      credentials.admin_key,
      credentials.capacity_key,
    ];
    let refused = 0;
    for (const { path, method } of limited) {
      const url = path.replaceAll(/\{[a-z_]+\}/g, "x");
      for (const limit of ["1e1", "%2B5", "05", "0x1", "5.0", "%205", "", "0", "-1", "201x"]) {
        const answers = await Promise.all(callers.map((as) => call(method, `${url}?limit=${limit}`, { as })));
        const told = answers.filter(({ status, text }) => status === 400 && text.includes('"path":"limit"'));
        if (told.length > 0) refused += 1;
        assert.ok(
          answers.every(({ status }) => status !== 200),
          `${method} ${url}?limit=${limit}`,
        );
      }
    }
    assert.ok(refused >= limited.length * 8, `${refused} refusals of ${limited.length} lists`);
  });

  test("is taken as such", async () => {
    assert.equal((await get("/v1/runs?limit=1")).status, 200);
    assert.equal((await get("/v1/runs?limit=200")).status, 200);
  });
});

describe("a cursor", () => {
  /** The cursor of a list's first page of one. */
  async function cursorOf(path: string): Promise<string> {
    const { body } = await get(`${path}${path.includes("?") ? "&" : "?"}limit=1`);
    assert.equal(typeof body.next_cursor, "string", path);
    return body.next_cursor;
  }

  async function expectRefused(path: string, cursor: string): Promise<void> {
    const answer = await get(`${path}${path.includes("?") ? "&" : "?"}cursor=${encodeURIComponent(cursor)}`);
    assert.equal(answer.status, 400, `${path}: ${answer.text}`);
    assert.equal(answer.body.error.code, "invalid_cursor");
  }

  test("of the runs is not taken by another list of runs, nor under other filters", async () => {
    for (let count = 0; count < 3; count += 1) await scene.start("plain");
    const session = await startSession(scene);
    const cursor = await cursorOf("/v1/runs");
    for (const path of [
      `/v1/sessions/${session.id}/runs`,
      "/v1/runs?task=plain",
      "/v1/runs?status=queued",
      `/api/sessions/${session.id}/runs`,
    ])
      await expectRefused(path, cursor);
    const narrowed = await cursorOf("/v1/runs?status=queued&status=succeeded");
    for (const path of ["/v1/runs", "/v1/runs?status=queued", "/v1/runs?task=other"])
      await expectRefused(path, narrowed);
    // The same filters in another order are the same list.
    const answer = await get(`/v1/runs?status=succeeded&status=queued&cursor=${narrowed}`);
    assert.equal(answer.status, 200, answer.text);
    await scene.cancelAll();
  });

  test("of the streams of a session is not taken by those of another", async () => {
    const [one, other] = [await startSession(scene), await startSession(scene)];
    for (const name of ["a", "b"])
      await scene.call("POST", `/api/sessions/${one.id}/outputs/${name}`, { body: { data: 1 } });
    const cursor = await cursorOf(`/api/sessions/${one.id}/streams`);
    await expectRefused(`/api/sessions/${other.id}/streams`, cursor);
    assert.equal((await get(`/api/sessions/${one.id}/streams?cursor=${cursor}`)).status, 200);
    await scene.cancelAll();
  });

  test("of sessions, workspaces, schedules, tokens and deployments holds for its filters alone", async () => {
    for (const name of ["s1", "s2"]) {
      const schedule = { deduplication_key: name, task: "plain", cron: "0 3 * * *" };
      assert.equal((await scene.call("POST", "/api/schedules", { body: schedule })).status, 201);
      assert.equal((await scene.call("POST", "/v1/tokens", { body: { tags: ["x"] } })).status, 201);
      assert.equal((await scene.call("POST", "/api/workspaces", { body: { tags: ["x"] } })).status, 201);
      await startSession(scene);
      await scene.deploy({ tasks: [{ id: "plain" }], actors: [{ id: "chat" }] });
    }
    const lists = [
      ["/v1/sessions", "actor=chat"],
      ["/v1/workspaces", "tag=x"],
      ["/v1/schedules", "task=plain"],
      ["/v1/tokens", "tag=x"],
      ["/v1/tokens", "order=oldest"],
      ["/v1/deployments", "status=ready"],
    ];
    for (const [path, filter] of lists) {
      await expectRefused(`${path}?${filter}`, await cursorOf(path as string));
      await expectRefused(path as string, await cursorOf(`${path}?${filter}`));
    }
    await scene.cancelAll();
  });
});

describe("the snapshot of a run's logs", () => {
  test("refuses a cursor that is none", async () => {
    const run = await scene.start("plain");
    for (const cursor of ["x", "-1", "1e2"]) {
      const answer = await get(`/api/runs/${run.id}/logs?${selection}&cursor=${cursor}`);
      assert.equal(answer.status, 400);
    }
    assert.equal((await get(`/api/runs/${run.id}/logs?cursor=0`)).status, 200);
    await scene.cancelAll();
  });
});

describe("a read of a stream", () => {
  test("with wait=0 answers at once", async () => {
    const session = await startSession(scene);
    for (const path of [
      `/api/sessions/${session.id}/outputs/output/read`,
      `/v1/sessions/${session.id}/outputs/read`,
    ]) {
      const answer = await get(`${path}?wait=0`);
      assert.equal(answer.status, 200, answer.text);
      assert.deepEqual(answer.body.records, []);
    }
    assert.equal((await get(`/v1/sessions/${session.id}/outputs/read?wait=1`)).status, 400);
    await scene.cancelAll();
  });
});

describe("a method that a path does not take", () => {
  /** By a method that fetch would not send. */
  function send(method: string, path: string): Promise<{ status: number; allow: string | undefined }> {
    return new Promise((resolve, reject) => {
      const headers = {
        "content-type": "text/plain",
        authorization: `Bearer ${scene.server.credentials.api_key}`,
      };
      const sent = request(`${scene.server.url}${path}`, { method, headers }, (answer) => {
        answer.resume();
        resolve({ status: answer.statusCode ?? 0, allow: answer.headers.allow });
      });
      sent.on("error", reject);
      sent.end("x");
    });
  }

  test("is 405 with those it takes, whatever the method and its body", async () => {
    const run = encodeId("run", "01936f5e-7c2a-7b64-8d10-0c9c1f0a7b11");
    for (const method of ["QUERY", "PROPFIND", "TRACE", "DELETE", "OPTIONS"])
      assert.deepEqual(await send(method, `/v1/runs/${run}/cancel`), { status: 405, allow: "POST" }, method);
    assert.deepEqual(await send("PUT", "/v1/tasks/start-batch"), { status: 405, allow: "POST" });
    assert.equal((await send("QUERY", "/v1/nothing")).status, 404);
  });
});

describe("racing writes of one secret", () => {
  test("are each answered with their own version", async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        scene.call("PUT", "/api/secrets/RACED", { body: { value: `value ${at}` } }),
      ),
    );
    const versions = answers.map(({ body }) => body.version as number).sort((a, b) => a - b);
    assert.deepEqual(
      versions,
      Array.from({ length: 20 }, (_, at) => at + 1),
    );
  });
});
