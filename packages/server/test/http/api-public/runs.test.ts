// A run as a browser sees it that has a public access token for it.

import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { after, afterEach, before, describe, test } from "node:test";
import { PERMISSIONS } from "@keelson/contract";
import { sql } from "../../../src/db/sql.ts";
import type { Answer } from "../../support/api-server.ts";
import type { HeldLease } from "../../support/raw-worker.ts";
import { readEvents, type ServerSentEvent } from "../../support/read-events.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import { startSession } from "../../support/session-scene.ts";
import { addApiKey, addForeignPlace } from "../../support/tenancy.ts";

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }], actors: [{ id: "chat" }] });
});
after(() => scene.stop());
afterEach(() => scene.cancelAll());

const ORIGIN = { origin: "https://elsewhere.example" };
const codeOf = ({ status, body }: Answer): string => (status < 400 ? String(status) : body.error.code);

const create = (run: string, extra: object = {}, as?: string): Promise<Answer> =>
  scene.call("POST", "/api/public-access-tokens", {
    ...(as !== undefined && { as }),
    body: { scope: { type: "run.read", run }, ...extra },
  });

async function mint(run: string, extra: object = {}): Promise<string> {
  const answer = await create(run, extra);
  assert.equal(answer.status, 201, answer.text);
  return answer.body.public_access_token;
}

const read = (as: string, run: string): Promise<Answer> =>
  scene.call("GET", `/api/v1/runs/${run}`, { as, headers: ORIGIN });

async function usesOf(token: string): Promise<number | undefined> {
  const [row] = await scene.server.db.query<{ uses: number }>(
    sql`SELECT uses FROM public_access_tokens WHERE digest = ${hash("sha256", token, "buffer")}`,
  );
  return row?.uses;
}

/** Follows the run from a cursor until an event fits, or to the end. */
const watch = (
  as: string,
  run: string,
  until?: (event: ServerSentEvent) => boolean,
  cursor = "0",
): Promise<ServerSentEvent[]> =>
  readEvents(scene.server, `/api/v1/runs/${run}?follow=1&cursor=${cursor}`, {
    as,
    headers: ORIGIN,
    ...(until !== undefined && { until }),
  });

const setProgress = (lease: HeldLease, value: number): object =>
  lease.operation("metadata", { changes: [{ op: "set", key: "progress", value }] });

const runOf = async (as: string, lease: HeldLease, isSo: (run: ServerSentEvent["data"]) => boolean) =>
  (await watch(as, lease.fields.run_id, ({ event, data }) => event === "run" && isSo(data))).at(-1);

describe("a token for a run", () => {
  test("shows what becomes of it, and nothing of what it was given", async () => {
    const lease = await scene.leased({ payload: { secret: "for the run alone" }, tags: ["weekly"] });
    const id = lease.fields.run_id;
    const answer = await create(id);
    assert.deepEqual(
      [answer.status, answer.body.scope, answer.body.max_uses],
      [201, { type: "run.read", run: id }, null],
    );
    const as = answer.body.public_access_token;
    const { status, body, headers, text } = await read(as, id);
    assert.equal(status, 200, text);
    assert.equal(headers.get("access-control-allow-origin"), "*");
    const { created_at, updated_at, ...rest } = body;
    assert.deepEqual(rest, {
      ...{ id, task: "plain", actor: null, status: "running", attempt_number: 1, max_attempts: 3 },
      ...{ output: null, failure: null, metadata: {}, tags: ["weekly"], started_at: null, finished_at: null },
    });
    assert.ok(Date.parse(created_at) <= Date.parse(updated_at));
    assert.ok(!text.includes("for the run alone"));
  });

  test("follows it to its end, each state when it is there", async () => {
    const lease = await scene.leased();
    const as = await mint(lease.fields.run_id);
    const following = watch(as, lease.fields.run_id);
    await scene.worker.report(lease.operation("start"), setProgress(lease, 0.5));
    const half = await runOf(as, lease, ({ metadata }) => metadata.progress === 0.5);
    assert.equal(half?.data.status, "running");
    const failure = { kind: "application_error", message: "No mail", stack: "at send", retryable: false };
    await scene.worker.report(lease.operation("release", { outcome: "failed", failure }));
    const events = await following;
    assert.deepEqual(events.at(-1)?.data, { run_id: lease.fields.run_id, status: "failed" });
    const runs = events.filter(({ event }) => event === "run");
    const last = runs.at(-1);
    // The stack says where the code lies.
    assert.deepEqual(last?.data.failure, { kind: "application_error", message: "No mail" });
    assert.deepEqual(last?.data.metadata, { progress: 0.5 });
    const ids = runs.map((event) => Number(event.id));
    assert.deepEqual(
      ids,
      ids.toSorted((a, b) => a - b),
    );
    assert.equal(new Set(ids).size, ids.length);
    // Who has seen it all is told that it is over, and nothing else.
    assert.deepEqual(
      (await watch(as, lease.fields.run_id, undefined, last?.id)).map(({ event }) => event),
      ["end"],
    );
  });

  test("is for that run and that permission alone", async () => {
    const [mine, other] = [await scene.start("plain"), await scene.start("plain")];
    const session = await startSession(scene);
    const as = await mint(mine.id);
    const chat = await scene.call("POST", "/api/public-access-tokens", {
      body: { scope: { type: "session.chat", session: { type: "id", id: session.id } } },
    });
    const call = (method: string, path: string, body?: object): Promise<Answer> =>
      scene.call(method, path, { as, headers: ORIGIN, ...(body !== undefined && { body }) });
    assert.deepEqual(
      [
        codeOf(await read(as, mine.id)),
        codeOf(await read(as, other.id)),
        codeOf(await read(as, "run_unknown")),
        codeOf(await read(chat.body.public_access_token, mine.id)),
        codeOf(await call("GET", `/api/v1/sessions/${session.id}/outputs/output/read?wait=0s`)),
        codeOf(await call("POST", `/api/v1/sessions/${session.id}/inputs/input`, { data: 1 })),
        codeOf(await call("GET", `/api/runs/${mine.id}`)),
        codeOf(await call("POST", `/api/runs/${mine.id}/cancel`)),
      ],
      [
        "200",
        "scope_mismatch",
        "scope_mismatch",
        "scope_mismatch",
        "scope_mismatch",
        "scope_mismatch",
        ...NOT,
      ],
    );
  });

  test("counts each answer and each stream as a use, and no refusal", async () => {
    const [mine, other] = [await scene.leased(), await scene.start("plain")];
    const id = mine.fields.run_id;
    const as = await mint(id, { max_uses: 2 });
    assert.equal(codeOf(await read(as, other.id)), "scope_mismatch");
    assert.equal(await usesOf(as), 0);
    assert.equal(codeOf(await read(as, id)), "200");
    assert.equal((await watch(as, id, () => true)).length, 1);
    assert.equal(await usesOf(as), 2);
    assert.equal(codeOf(await read(as, id)), "unauthenticated");
  });
});

const NOT = ["unauthenticated", "unauthenticated"];

describe("creating a token for a run", () => {
  test("is for who may read runs, of a run of their own", async () => {
    const run = await scene.start("plain");
    const there = await addForeignPlace(scene.server);
    const foreign = await addApiKey(scene.server, PERMISSIONS, { environmentId: there.environmentId });
    const blind = await addApiKey(
      scene.server,
      PERMISSIONS.filter((permission) => permission !== "runs.read"),
    );
    assert.deepEqual(
      [
        codeOf(await create(run.id)),
        codeOf(await create(run.id, {}, foreign)),
        codeOf(await create(run.id, {}, blind)),
        codeOf(await create("run_01kahvq3rwfw9vs4m6ev2n8y1c")),
        codeOf(await create("nonsense")),
      ],
      ["201", "not_found", "forbidden", "not_found", "not_found"],
    );
  });

  test("says what is wrong with a scope", async () => {
    const run = await scene.start("plain");
    for (const [scope, message] of [
      [{ type: "run.read" }, "scope.run: is required"],
      [
        { type: "run.write", run: run.id },
        "scope.type: must be one of session.input.send, session.output.read, session.messages.read, session.interrupt, session.files.read, session.files.write, session.chat, run.read",
      ],
      [{ type: "run.read", run: run.id, stream: "output" }, "scope.stream: is not a known field; remove it"],
      [
        { type: "session.chat", run: run.id },
        "scope.session: is required; scope.run: is not a known field; remove it",
      ],
    ] as const) {
      const answer = await scene.call("POST", "/api/public-access-tokens", { body: { scope } });
      assert.equal(codeOf(answer), "invalid_request");
      assert.equal(answer.body.error.message, message);
    }
  });

  test("is answered alike when it is repeated with its key", async () => {
    const run = await scene.start("plain");
    const key = { idempotency_key: `watch-${run.id}` };
    const [first, again] = [await create(run.id, key), await create(run.id, key)];
    assert.deepEqual(again.body, first.body);
    const other = await scene.start("plain");
    assert.equal(codeOf(await create(other.id, key)), "idempotency_conflict");
  });
});
