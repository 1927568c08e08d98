// From the call that starts a command in a live workspace to its first byte at a follower: what is asked of the database.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { sql } from "../../../src/db/sql.ts";
import { createDatabase } from "../../../src/db/pool.ts";
import { startApiServer, type Answer, type ApiServer } from "../../support/api-server.ts";
import { openPoll as startPoll } from "../../support/open-poll.ts";
import { recordQueries, type RecordedQuery } from "../../support/record-queries.ts";
import { startWorkspaceWorker, type WorkspaceWorker } from "../../support/workspace-worker.ts";
import { workspaceCalls } from "../../support/workspaces.ts";
import { untilBlocked } from "../../support/until-blocked.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

/** By which a poll finds processes of live workspaces. */
const LOOK = /live_in\s+FROM materializations/;

describe("a command in a live workspace", () => {
  let server: ApiServer;
  let worker: WorkspaceWorker;
  let workspace: string;
  let leased: Json;
  before(async () => {
    server = await startApiServer();
    worker = await startWorkspaceWorker(server);
  });
  after(() => server.stop());
  beforeEach(async () => {
    ({ id: workspace } = await workspaceCalls(server).create());
    await server.call("POST", `/api/workspaces/${workspace}/materialize`, { body: {} });
    leased = await worker.take();
    assert.equal((await worker.live(leased)).status, 200);
    // The word that it is live wakes the next poll.
    await worker.poll({ held: held() });
  });
  afterEach(async () => {
    await server.call("DELETE", `/api/workspaces/${workspace}`);
    await worker.stopped(leased);
  });

  const create = (extra: object = {}, headers: Record<string, string> = {}): Promise<Answer> =>
    server.call("POST", `/api/workspaces/${workspace}/execs`, {
      body: { command: ["cat"], ...extra },
      headers,
    });
  const held = (processes: Json[] = []): Json[] => [{ ...worker.fields(leased), stopping: false, processes }];
  const report = (word: string, exec: string, extra: object = {}): Promise<Answer> =>
    worker.call(`/workspaces/processes/${word}`, { ...worker.fields(leased), process_id: exec, ...extra });
  const chunk = (offset: number, text: string): object => ({
    stream: "stdout",
    ...{ offset, data: Buffer.from(text).toString("base64"), at: "2026-01-01T00:00:00.123Z" },
  });
  const of = (queries: readonly RecordedQuery[], pattern: RegExp): string[] =>
    queries.map(({ text }) => text).filter((text) => pattern.test(text));

  /** A poll that has looked and waits. */
  const openPoll = (extra: object = {}): Promise<{ answer: Promise<Json> }> =>
    startPoll(() => worker.poll({ held: held(), wait: "20s", ...extra }), LOOK);

  test("is stored by one statement, and given to the poll that waits without a look", async () => {
    const poll = await openPoll();
    const queries = await recordQueries(async () => {
      const created = await create({ stdin: Buffer.from("in").toString("base64"), env: { A: "1" } });
      assert.equal(created.status, 201, created.text);
      assert.deepEqual(created.body.stdin, { bytes: 2, closed: true });
      const { processes } = await poll.answer;
      assert.equal(processes.length, 1);
      const { process_id: id, materialization_id: materialization, status, command, env } = processes[0];
      assert.deepEqual(
        { id, materialization, status, command, env },
        {
          ...{ id: created.body.id, materialization: leased.materialization_id, status: "pending" },
          ...{ command: ["cat"], env: { A: "1" } },
        },
      );
    });
    const [insert, ...more] = queries.filter(({ text }) => text.includes("INSERT INTO processes"));
    assert.ok(insert !== undefined && more.length === 0);
    // The server's loops have transactions too, on connections of their own.
    const beside = queries.filter(({ connection }) => connection === insert.connection);
    assert.deepEqual([...of(queries, LOOK), ...of(beside, /^\s*(BEGIN|COMMIT)/)], []);
  });

  test("whose answer of the poll was lost is given again, with its input", async () => {
    const poll = await openPoll();
    const { body } = await create({ stdin: Buffer.from("in").toString("base64") });
    const [start] = (await poll.answer).processes;
    assert.deepEqual((await worker.poll({ held: held() })).processes, [start]);
    const known = { process_id: body.id, input_offset: 0, input_closed: false, control_sequence: 0 };
    const { inputs } = await worker.poll({ held: held([known]) });
    assert.deepEqual(inputs, [
      { process_id: body.id, offset: 0, data: Buffer.from("in").toString("base64"), closed: true },
    ]);
  });

  const begins = { begins_given: true };

  test("counts as started for a poll that begins what it is given, and is given again when its answer was lost", async () => {
    const poll = await openPoll(begins);
    const { body } = await create();
    assert.deepEqual([body.status, typeof body.started_at], ["running", "string"]);
    const [start] = (await poll.answer).processes;
    assert.deepEqual([start.process_id, start.status, start.given], [body.id, "running", true]);
    assert.deepEqual((await worker.poll({ held: held(), ...begins })).processes, [start]);
    // Without another word.
    assert.equal((await report("output", body.id, { chunks: [chunk(0, "out")] })).status, 200);
    // One that was held up asks first.
    assert.equal((await report("started", body.id)).status, 200);
    const end = { outcome: "exited", exit_code: 0, version_id: null };
    assert.equal((await report("ended", body.id, end)).status, 200);
    assert.deepEqual((await worker.poll({ held: held(), ...begins })).processes, []);
  });

  test("is given to polls that follow one another, and a stop is told to the last of them", async () => {
    const poll = await openPoll(begins);
    const known: Json[] = [];
    let answer = poll.answer;
    for (let n = 0; n < 12; n += 1) {
      const { body } = await create();
      const { processes } = await answer;
      assert.deepEqual(
        processes.map(({ process_id: id }: Json) => id),
        [body.id],
      );
      known.push({ process_id: body.id, input_offset: 0, input_closed: false, control_sequence: 0 });
      answer = worker.poll({ held: held(known), wait: "20s", ...begins });
    }
    const stopping = server.call("POST", `/api/workspaces/${workspace}/stop`, { body: {} });
    assert.equal((await answer).stops.length, 1);
    await worker.stopped(leased);
    await stopping;
  });

  test("waits for the word that it has started where nobody waits to begin it", async () => {
    await openPoll(begins).then(async ({ answer }) => {
      // The poll is answered with the first of them.
      const first = await create();
      assert.equal((await answer).processes[0].process_id, first.body.id);
    });
    const { body } = await create();
    assert.deepEqual([body.status, body.started_at], ["pending", null]);
    const { processes } = await worker.poll({ held: held(), ...begins });
    assert.deepEqual(
      processes.map(({ process_id: id, status, given }: Json) => [id === body.id, status, given]),
      [
        [false, "running", true],
        [true, "pending", undefined],
      ],
    );
  });

  test("that is to run again when it is lost is not counted as started", async () => {
    const poll = await openPoll(begins);
    const { body } = await create({ on_lost: "rerun" });
    assert.equal(body.status, "pending");
    assert.equal((await poll.answer).processes[0].given, undefined);
  });

  test("that was given to a worker which is lost is lost with it", async () => {
    const poll = await openPoll(begins);
    const { body } = await create();
    await poll.answer;
    assert.equal(
      (await worker.call("/workspaces/failed", { ...worker.fields(leased), error: { message: "x" } })).status,
      200,
    );
    const { body: after } = await server.call("GET", `/api/workspaces/${workspace}/execs/${body.id}`);
    assert.equal(after.status, "lost");
    for (const word of ["started", "output"])
      assert.equal(
        (await report(word, body.id, word === "output" ? { chunks: [chunk(0, "x")] } : {})).body.error.code,
        "lease_lost",
      );
  });

  test("is created once for a key, and a repeat is given to no poll", async () => {
    const headers = { "idempotency-key": randomUUID() };
    const poll = await openPoll();
    const first = await create({}, headers);
    assert.equal((await poll.answer).processes[0].process_id, first.body.id);
    const known = { process_id: first.body.id, input_offset: 0, input_closed: false, control_sequence: 0 };
    const again = await create({}, headers);
    assert.deepEqual([again.status, again.body], [201, first.body]);
    assert.deepEqual((await worker.poll({ held: held([known]) })).processes, []);
  });

  test("is given by another server's poll as well", async () => {
    const replica = await server.startReplica();
    try {
      const poll = await openPoll();
      const { body } = await replica.call("POST", `/api/workspaces/${workspace}/execs`, {
        body: { command: ["cat"] },
      });
      assert.equal((await poll.answer).processes[0].process_id, body.id);
    } finally {
      await replica.stop();
    }
  });

  test("waits for the next machine when the workspace stops while the command is created", async () => {
    const other = createDatabase({ url: server.db.directUrl, poolSize: 1, statementNames: true });
    let calls: Promise<Answer>[] = [];
    try {
      await other.transaction(async (tx) => {
        await tx.query(sql`SELECT FROM workspaces WHERE id = ${decodeId("ws", workspace)} FOR NO KEY UPDATE`);
        calls = [server.call("POST", `/api/workspaces/${workspace}/stop`, { body: {} })];
        await untilBlocked(server.db);
        calls.push(create());
        await untilBlocked(server.db, 2);
      });
    } finally {
      await other.close();
    }
    const [stop, created] = calls as [Promise<Answer>, Promise<Answer>];
    // Its answer may wait until the server ends: the workspace is live again before it looks.
    stop.catch(() => undefined);
    const { status, body } = await created;
    assert.deepEqual([status, body.status], [201, "pending"]);
    assert.deepEqual((await worker.poll({ held: held() })).processes, []);
    await worker.stopped(leased);
    const next = await worker.poll({ limit: 1, wait: "10s" });
    assert.equal(next.processes[0].process_id, body.id);
    leased = next.materializations[0];
    assert.equal((await worker.live(leased)).status, 200);
  });

  test("has its output written to followers as it was stored, and each byte once", async () => {
    const { body } = await create();
    const path = `/api/workspaces/${workspace}/execs/${body.id}/stdout`;
    await report("started", body.id);
    const abort = new AbortController();
    const response = await fetch(`${server.url}${path}?follow=1`, {
      headers: { authorization: `Bearer ${server.credentials.api_key}` },
      signal: abort.signal,
    });
    const frames = readFrames(response);
    const offsets: number[] = [];
    for (const [offset, text] of [
      [0, "first"],
      [5, "second"],
      [11, "third"],
    ] as const) {
      assert.equal((await report("output", body.id, { chunks: [chunk(offset, text)] })).status, 200);
      const frame = await frames.next();
      const shown = JSON.parse(/^data: (.*)$/m.exec(frame.value as string)?.[1] ?? "");
      assert.deepEqual(shown, {
        ...{ offset, data: Buffer.from(text).toString("base64"), at: "2026-01-01T00:00:00.123Z" },
      });
      offsets.push(Number(/^id: (.*)$/m.exec(frame.value as string)?.[1]));
    }
    assert.deepEqual(offsets, [5, 11, 16]);
    await report("ended", body.id, { outcome: "exited", exit_code: 0 });
    assert.match((await frames.next()).value as string, /^event: end$/m);
    const { chunks } = (await server.call("GET", path)).body;
    assert.deepEqual(
      chunks.map(({ offset }: Json) => offset),
      [0, 5, 11],
    );
  });
});

/** The frames of chunks and of the end, one at a time. */
async function* readFrames(response: Response): AsyncGenerator<string> {
  let text = "";
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(piece).toString();
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const frame = text.slice(0, end);
      text = text.slice(end + 2);
      if (/^event: (chunk|end)$/m.test(frame)) yield frame;
    }
  }
}
