// What an environment may have at once, whatever the way in and whichever of two servers is asked.

import assert from "node:assert/strict";
import { get, type IncomingMessage } from "node:http";
import { after, afterEach, before, describe, test } from "node:test";
import { decodeId, type Uuid } from "@keelson/contract";
import { setQuotas } from "../../src/core/quotas/set-quotas.ts";
import { findQuotas } from "../../src/core/quotas/quota-reads.ts";
import { sql } from "../../src/db/sql.ts";
import { digestOf, startApiServer, type Answer, type ApiServer } from "../support/api-server.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { cancelSessions, send, sessionKnows, startSession } from "../support/session-scene.ts";
import { until } from "../support/until.ts";

const LIVE_RUNS = 4;
const EVENT_STREAMS = 3;

let database: TestDatabase;
let scene: RunScene;
let other: ApiServer;
before(async () => {
  database = await createTestDatabase();
  const shared = { ...database, drop: () => Promise.resolve() };
  const quotas = { liveRuns: LIVE_RUNS, eventStreams: EVENT_STREAMS, storedBytes: 0 };
  // The clock is moved by minutes while runs are held.
  const config = { quotas, leaseDurationMs: 300_000 };
  const manifest = { tasks: [{ id: "job" }, { id: "child" }], actors: [{ id: "chat" }] };
  scene = await startRunScene(manifest, { database: shared, config });
  other = await startApiServer({ database: shared, config, clock: scene.clock.now });
});
after(async () => {
  await other?.stop();
  await scene?.stop();
  await database?.drop();
});
afterEach(async () => {
  await cancelSessions(scene);
  // What servers know of the environment is old from here on.
  scene.clock.advance(60_000);
});

const environmentId = (): Uuid<"env"> =>
  decodeId("env", scene.server.credentials.environment_id) as Uuid<"env">;
const atOther = (method: string, path: string, body?: object): Promise<Answer> =>
  other.call(method, path, {
    as: scene.server.credentials.api_key,
    ...(body === undefined ? {} : { body }),
  });

const refusal = ({ status, body }: Answer): unknown[] => [
  status,
  body.error?.code,
  body.error?.details?.quota,
  body.error?.details?.limit,
];
const NO_ROOM = [429, "rate_limited", "live_runs", LIVE_RUNS];

const fill = async (): Promise<string[]> => {
  const ids: string[] = [];
  for (let n = 0; n < LIVE_RUNS; n += 1) ids.push((await scene.start("job")).id);
  return ids;
};

describe("live runs", () => {
  test("are refused past the quota, one by one in a batch, until some have ended", async () => {
    const starts = Array.from({ length: LIVE_RUNS + 2 }, () => ({ task: "job" }));
    const { body } = await scene.call("POST", "/v1/tasks/start-batch", { body: { starts } });
    const statuses = body.results.map(({ status }: { status: number }) => status).sort();
    assert.deepEqual(statuses, [201, 201, 201, 201, 429, 429]);
    const refused = await scene.call("POST", "/v1/tasks/job/start", { body: {} });
    assert.deepEqual(refusal(refused), NO_ROOM);
    assert.ok(Number(refused.headers.get("retry-after")) >= 1);
    assert.deepEqual(refusal(await atOther("POST", "/v1/tasks/job/start", {})), NO_ROOM);
    const { run } = body.results.find(({ status }: { status: number }) => status === 201);
    assert.equal((await scene.cancel(run.id)).status, 200);
    scene.clock.advance(200);
    assert.equal((await atOther("POST", "/v1/tasks/job/start", {})).status, 201);
  });

  test("started at once are no more than the quota", async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => scene.call("POST", "/v1/tasks/job/start", { body: {} })),
    );
    assert.equal(answers.filter(({ status }) => status === 201).length, LIVE_RUNS);
    assert.equal(answers.filter(({ status }) => status === 429).length, 20 - LIVE_RUNS);
  });

  test("are not asked for again by a repeat of a start", async () => {
    const body = { idempotency_key: "first" };
    const { id } = await scene.start("job", body);
    for (let n = 1; n < LIVE_RUNS; n += 1) await scene.start("job");
    const repeated = await scene.call("POST", "/v1/tasks/job/start", { body });
    assert.deepEqual([repeated.status, repeated.body.id], [201, id]);
  });

  test("of new sessions and actors are refused, and an open session is found", async () => {
    const session = await startSession(scene, { external_id: "open" });
    for (let n = 1; n < LIVE_RUNS; n += 1) await scene.start("job");
    const refused = await scene.call("POST", "/api/sessions", { body: { actor: "chat" } });
    assert.deepEqual(refusal(refused), NO_ROOM);
    assert.deepEqual(refusal(await scene.call("POST", "/v1/actors/chat/start", { body: {} })), NO_ROOM);
    const found = await scene.call("POST", "/api/sessions", { body: { actor: "chat", external_id: "open" } });
    assert.deepEqual([found.status, found.body.id], [200, session.id]);
  });

  test("of later turns are refused with the input that would start them", async () => {
    const session = await startSession(scene);
    const first = await scene.worker.takeOne();
    await scene.worker.finish(first);
    await sessionKnows(scene, first.runId);
    const [run] = await fill();
    assert.deepEqual(refusal(await send(scene, session, "more")), NO_ROOM);
    const { body } = await scene.call("GET", `/api/sessions/${session.id}/inputs/input`);
    assert.deepEqual(body.records ?? [], []);
    assert.equal((await scene.cancel(run as string)).status, 200);
    scene.clock.advance(200);
    assert.equal((await send(scene, session, "more")).status, 201);
  });

  test("of schedules are skipped with the reason", async () => {
    await fill();
    const schedule = await scene.call("POST", "/api/schedules", {
      body: { deduplication_key: "quota", task: "job", cron: "* * * * *" },
    });
    assert.equal(schedule.status, 201, schedule.text);
    scene.clock.advance(60_000);
    const path = `/api/schedules/${schedule.body.id}`;
    const ofSchedule = () => scene.call("GET", `${path}/occurrences`);
    await until("the schedule to fire", 60_000, async () => (await ofSchedule()).body.occurrences.length > 0);
    const { status, reason } = (await ofSchedule()).body.occurrences.at(-1);
    assert.deepEqual([status, reason.kind], ["skipped", "start_refused"]);
    assert.match(reason.message, /live runs/);
    assert.equal((await scene.call("DELETE", path)).status, 204);
  });

  test("that a run calls for are refused to it", async () => {
    await scene.start("job");
    const parent = await scene.worker.takeOne();
    await scene.worker.report(parent.operation("start"));
    for (let n = 1; n < LIVE_RUNS; n += 1) await scene.start("job");
    const [result] = await scene.worker.results(
      parent.operation("child-runs", { position: 1, task: "child", payload: null }),
    );
    assert.equal(result.result.error.code, "rate_limited");
  });

  test("are as many as an operator says for the environment", async () => {
    const quotas = { liveRuns: LIVE_RUNS + 1, eventStreams: null, storedBytes: null };
    await scene.server.db.transaction((tx) => setQuotas(tx, environmentId(), quotas, scene.clock.now()));
    assert.deepEqual(await findQuotas(scene.server.db, environmentId()), quotas);
    await fill();
    await scene.start("job");
    const refused = await scene.call("POST", "/v1/tasks/job/start", { body: {} });
    assert.deepEqual(refusal(refused), [429, "rate_limited", "live_runs", LIVE_RUNS + 1]);
    const none = { liveRuns: null, eventStreams: null, storedBytes: null };
    await scene.server.db.transaction((tx) => setQuotas(tx, environmentId(), none, scene.clock.now()));
    await assert.rejects(
      scene.server.db.transaction((tx) =>
        setQuotas(tx, crypto.randomUUID() as Uuid<"env">, none, scene.clock.now()),
      ),
      { code: "not_found" },
    );
  });
});

describe("event streams", () => {
  const open = (server: ApiServer, path: string): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${scene.server.credentials.api_key}` };
      get(server.url + path, { headers }, resolve).on("error", reject);
    });

  test("are limited over all servers", async () => {
    const { id } = await scene.start("job");
    const path = `/api/runs/${id}/events?follow=1`;
    const streams = [await open(scene.server, path), await open(scene.server, path)];
    await until("both to be counted", 60_000, async () => {
      const [row] = await scene.server.db.query<{ open: number }>(
        sql`SELECT coalesce(max(count), 0) AS open FROM event_stream_counts`,
      );
      return row?.open === 2;
    });
    streams.push(await open(other, path));
    assert.deepEqual(
      streams.map(({ statusCode }) => statusCode),
      [200, 200, 200],
    );
    const refused = await atOther("GET", path);
    assert.deepEqual(refusal(refused), [429, "rate_limited", "event_streams", EVENT_STREAMS]);
    assert.equal(refused.headers.get("ratelimit-limit"), String(EVENT_STREAMS));
    // The first server hears of it a moment later.
    for (let status = 200; status === 200;) {
      const stream = await open(scene.server, path);
      status = stream.statusCode ?? 0;
      stream.destroy();
      assert.ok(status === 200 || status === 429);
    }
    for (const stream of streams) stream.destroy();
    for (let status = 429; status === 429;) {
      const stream = await open(other, path);
      status = stream.statusCode ?? 0;
      stream.destroy();
    }
  });
});

describe("stored bytes", () => {
  const BUNDLE = Buffer.alloc(1_000, "bundle");
  const setStored = async (storedBytes: number | null): Promise<void> => {
    const quotas = { liveRuns: null, eventStreams: null, storedBytes };
    await scene.server.db.transaction((tx) => setQuotas(tx, environmentId(), quotas, scene.clock.now()));
    scene.clock.advance(60_000);
  };
  const storedBytes = async (): Promise<number> => {
    const [row] = await scene.server.db.query<{ bytes: number }>(
      sql`SELECT bytes FROM stored_bytes WHERE environment_id = ${environmentId()}`,
    );
    return row?.bytes ?? 0;
  };
  const FULL = [413, "payload_too_large", "stored_bytes"];

  test("are counted of records and logs, and no more is taken from outside when they are too many", async () => {
    const session = await startSession(scene);
    const lease = await scene.worker.takeOne();
    const before = await storedBytes();
    const key = { idempotency_key: "kept" };
    assert.equal((await send(scene, session, "x".repeat(1_000), key)).status, 201);
    const chunk = {
      stream: "stdout",
      data: Buffer.alloc(3_000).toString("base64"),
      at: "2026-11-20T09:15:00.123Z",
    };
    const write = (): Promise<(number | string)[]> =>
      scene.worker.report(lease.operation("logs", { chunks: [chunk] }));
    assert.deepEqual(await scene.worker.report(lease.operation("start")), [200]);
    assert.deepEqual(await write(), [200]);
    await until(
      "what was written to be counted",
      60_000,
      async () => (await storedBytes()) >= before + 4_002,
    );
    // What an earlier test wrote may have been added only now, but no more than that.
    assert.ok((await storedBytes()) < before + 5_000);

    await setStored(2_000);
    const append = await send(scene, session, "more");
    assert.deepEqual(refusal(append).slice(0, 3), FULL);
    const upload = await scene.call("PUT", `/v1/deployment-bundles/${digestOf(BUNDLE)}`, { bytes: BUNDLE });
    assert.deepEqual(refusal(upload).slice(0, 3), FULL);
    const blob = await scene.server.call(
      "PUT",
      `/worker/v1/blobs/${digestOf(BUNDLE)}?environment_id=${scene.server.credentials.environment_id}`,
      { as: scene.worker.token, bytes: BUNDLE },
    );
    assert.deepEqual(refusal(blob).slice(0, 3), FULL);
    const ofFile = `/api/sessions/${session.id}/files/${digestOf(BUNDLE)}`;
    assert.deepEqual(refusal(await scene.call("PUT", ofFile, { bytes: BUNDLE })).slice(0, 3), FULL);
    assert.deepEqual(await write(), [200], "what a live run writes is taken");
    const repeated = await send(scene, session, "x".repeat(1_000), key);
    assert.deepEqual(
      [repeated.status, repeated.headers.get("idempotency-replayed")],
      [201, "true"],
      "a repeat stores nothing",
    );

    await setStored(null);
    assert.equal((await send(scene, session, "more")).status, 201);
    assert.equal((await scene.call("PUT", ofFile, { bytes: BUNDLE })).status, 201);
    await setStored(500);
    const last = await scene.call("PUT", ofFile, { bytes: BUNDLE });
    assert.deepEqual(refusal(last).slice(0, 3), FULL, "a file counts with its bytes");
    await setStored(null);
  });
});
