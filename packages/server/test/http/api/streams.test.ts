import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { readEvents } from "../../support/read-events.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import { emit, endTurn, records, send, sessionKnows, startSession } from "../../support/session-scene.ts";

const MANIFEST = { tasks: [{ id: "plain" }], actors: [{ id: "chat", retry: { max_attempts: 1 } }] };

let scene: RunScene;
before(async () => {
  scene = await startRunScene(MANIFEST);
});
after(() => scene.stop());
afterEach(() => scene.cancelAll());

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const pathOf = (session: Json, rest: string): string => `/api/sessions/${session.id}/${rest}`;
const sequencesOf = (page: Json): number[] => page.records.map(({ sequence }: Json) => sequence);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n + 1);

describe("a stream", () => {
  test("is made by its readers up to a hundred of a session, however many race; appends make more", async () => {
    const session = await startSession(scene);
    const read = (name: string) => scene.call("GET", pathOf(session, `outputs/${name}/read?wait=0s`));
    const answers = await Promise.all(Array.from({ length: 120 }, (_, n) => read(`made-${n}`)));
    const refused = answers.filter(({ status }) => status !== 200);
    assert.ok(refused.length >= 20);
    for (const { status, body } of refused)
      assert.deepEqual([status, body.error.code], [409, "invalid_state"]);
    const { streams } = await records(scene, pathOf(session, "streams"));
    assert.ok(streams.length <= 100, `${streams.length} streams`);
    assert.equal((await emit(scene, session, 1, {}, "one-more")).status, 201);
    assert.equal((await read("one-more")).body.records.length, 1);
  });

  test("keeps each record as it was sent, numbered from 1, and is listed", async () => {
    const session = await startSession(scene);
    const data = { é: [1.5, null, "\u2028"], z: 1, a: { deep: true } };
    const sent = await emit(scene, session, data, { correlation_id: "q 1", content_type: "text/plain; a=b" });
    assert.equal(sent.status, 201, sent.text);
    const { id, created_at, source, ...rest } = sent.body;
    assert.match(id, /^rec_/);
    assert.deepEqual(rest, {
      session_id: session.id,
      stream: "output",
      sequence: 1,
      data,
      content_type: "text/plain; a=b",
      correlation_id: "q 1",
      run_id: null,
      attempt_number: null,
      message_id: null,
    });
    assert.match(source.id, /^key_/);
    assert.ok(Date.parse(created_at) > 0);
    await emit(scene, session, null);
    const page = await records(scene, pathOf(session, "outputs/output"));
    assert.deepEqual(
      [page.records[0], page.records[1].data, page.next_cursor, page.ended],
      [sent.body, null, "2", false],
    );
    const { streams } = await records(scene, pathOf(session, "streams"));
    assert.deepEqual(
      streams.map(({ name, direction, last_sequence, session_id }: Json) => [
        name,
        direction,
        last_sequence,
        session_id,
      ]),
      [["output", "output", 2, session.id]],
    );
  });

  test("has no gap, whoever appends at once to however many streams", async () => {
    const session = await startSession(scene);
    const other = await startSession(scene);
    const answers = await Promise.all(
      Array.from({ length: 240 }, (_, n) =>
        n % 5 === 4
          ? scene.call("POST", pathOf(n % 2 === 0 ? session : other, "outputs/output"), {
              body: { records: [{ data: n }, { data: n }, { data: n }] },
            })
          : n % 3 === 0
            ? send(scene, n % 2 === 0 ? session : other, n, { idempotency_key: `n${n}` })
            : emit(scene, n % 2 === 0 ? session : other, n, {}, `s${n % 4}`),
      ),
    );
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201]);
    let count = 0;
    for (const one of [session, other]) {
      for (const stream of (await records(scene, pathOf(one, "streams"))).streams) {
        const page = await records(scene, pathOf(one, `${stream.direction}s/${stream.name}?limit=200`));
        assert.deepEqual(sequencesOf(page), upTo(stream.last_sequence), stream.name);
        count += page.records.length;
      }
    }
    assert.equal(count, 240 + 2 * 48);
    for (const { body } of answers.filter((answer) => answer.body.records !== undefined)) {
      const [first] = sequencesOf(body);
      assert.deepEqual(sequencesOf(body), [first, first! + 1, first! + 2]);
    }
  });

  test("appends a batch whole or not at all", async () => {
    const session = await startSession(scene);
    const append = (body: object) => scene.call("POST", pathOf(session, "outputs/output"), { body });
    const good = await append({ records: [{ data: 1, correlation_id: "a" }, { data: 2 }] });
    assert.deepEqual([good.status, sequencesOf(good.body)], [201, [1, 2]]);
    for (const [body, status, error, words] of [
      [
        { records: [{ data: 1 }, { data: "x".repeat(262_143) }] },
        413,
        "payload_too_large",
        /records\.1\.data/,
      ],
      [{ records: [{ data: 1 }, {}] }, 400, "invalid_request", /records\.1\.data: is required/],
      [{ records: [] }, 400, "invalid_request", /records/],
      [{ records: [{ data: 1 }], correlation_id: "a" }, 400, "invalid_request", /each of the records/],
      [{ records: [{ data: 1 }], data: 1 }, 400, "invalid_request", /each of the records/],
      [{}, 400, "invalid_request", /data: is required/],
      [{ data: 1, correlation_id: "é".repeat(200) }, 400, "invalid_request", /256 bytes/],
      [{ data: 1, content_type: "none" }, 400, "invalid_request", /content_type/],
    ] as const) {
      const answer = await append(body);
      assert.deepEqual([answer.status, answer.body.error?.code], [status, error], answer.text.slice(0, 300));
      assert.match(answer.body.error.message, words);
    }
    assert.equal((await append({ data: "x".repeat(262_142) })).status, 201, "256 KiB with the quotes");
    assert.deepEqual(sequencesOf(await records(scene, pathOf(session, "outputs/output"))), [1, 2, 3]);
  });

  test("has one direction for life", async () => {
    const session = await startSession(scene);
    await send(scene, session, 1);
    for (const answer of [
      await emit(scene, session, 1, {}, "input"),
      await scene.call("GET", pathOf(session, "outputs/input")),
      await scene.call("GET", pathOf(session, "outputs/input/read?follow=1")),
      await emit(scene, session, 1, { idempotency_key: "other-way" }, "input"),
    ])
      assert.deepEqual([answer.status, answer.body.error.code], [409, "stream_direction_mismatch"]);
    const raced = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        scene.call("POST", pathOf(session, `${n % 2 === 0 ? "inputs" : "outputs"}/raced`), {
          body: { data: n },
        }),
      ),
    );
    assert.equal(raced.filter(({ status }) => status === 201).length, 10);
    assert.equal(raced.filter(({ status }) => status === 409).length, 10);
    assert.equal((await scene.call("GET", pathOf(session, "outputs/bad%20name"))).status, 400);
  });

  test("gives a repeat of a key its first records, whatever came between", async () => {
    const session = await startSession(scene);
    const first = await emit(scene, session, { a: 1, b: [2] }, { idempotency_key: "k" });
    assert.equal(first.headers.get("idempotency-replayed"), null);
    await emit(scene, session, "between");
    const again = await scene.call("POST", pathOf(session, "outputs/output"), {
      body: { data: { b: [2], a: 1 } },
      headers: { "idempotency-key": "k" },
    });
    assert.deepEqual(
      [again.status, again.text, again.headers.get("idempotency-replayed")],
      [201, first.text, "true"],
    );
    const other = await emit(scene, session, "other", { idempotency_key: "k" });
    assert.deepEqual([other.status, other.body.error.code], [409, "idempotency_conflict"]);
    assert.equal(
      (await emit(scene, session, "other", { idempotency_key: "k" }, "elsewhere")).body.sequence,
      1,
    );
    const batch = { records: [{ data: 1 }, { data: 2 }], idempotency_key: "batch" };
    const raced = await Promise.all(
      Array.from({ length: 16 }, () => scene.call("POST", pathOf(session, "inputs/raced"), { body: batch })),
    );
    assert.equal(new Set(raced.map(({ text }) => text)).size, 1);
    assert.equal(raced.filter(({ headers }) => headers.get("idempotency-replayed") === null).length, 1);
    assert.deepEqual(sequencesOf(raced[0]?.body), [1, 2]);
    await scene.call("POST", pathOf(session, "close"));
    assert.equal((await emit(scene, session, { a: 1, b: [2] }, { idempotency_key: "k" })).text, first.text);
    assert.equal(
      (await emit(scene, session, 1, { idempotency_key: "new" })).body.error.code,
      "session_closed",
    );
  });

  test("is read page by page, and of one exchange alone", async () => {
    const session = await startSession(scene);
    await scene.call("POST", pathOf(session, "outputs/output"), {
      body: { records: upTo(9).map((n) => ({ data: n, correlation_id: n % 3 === 0 ? "third" : "other" })) },
    });
    const first = await records(scene, pathOf(session, "outputs/output?limit=4"));
    assert.deepEqual([sequencesOf(first), first.next_cursor], [[1, 2, 3, 4], "4"]);
    assert.deepEqual(
      sequencesOf(await records(scene, pathOf(session, "outputs/output?cursor=4"))),
      [5, 6, 7, 8, 9],
    );
    const third = await records(scene, pathOf(session, "outputs/output?correlation_id=third&cursor=3"));
    assert.deepEqual([sequencesOf(third), third.next_cursor], [[6, 9], "9"]);
    const none = await records(scene, pathOf(session, "outputs/output?cursor=9"));
    assert.deepEqual([none.records, none.next_cursor], [[], "9"]);
    const big = "x".repeat(200_000);
    await scene.call("POST", pathOf(session, "outputs/big"), {
      body: { records: [1, 2, 3, 4].map(() => ({ data: big })) },
    });
    await scene.call("POST", pathOf(session, "outputs/big"), {
      body: { records: [1, 2, 3, 4].map(() => ({ data: big })) },
    });
    const page = await records(scene, pathOf(session, "outputs/big"));
    assert.equal(page.records.length, 5, "a page holds a mebibyte of data");
    assert.deepEqual(
      sequencesOf(await records(scene, pathOf(session, `outputs/big?cursor=${page.next_cursor}`))),
      [6, 7, 8],
    );
    for (const query of ["cursor=x", "limit=0", "limit=201", "wait=1s"])
      assert.equal((await scene.call("GET", pathOf(session, `outputs/output?${query}`))).status, 400, query);
  });

  test("that nobody has used reads as empty, and whose session is not there is not found", async () => {
    const session = await startSession(scene);
    const empty = { records: [], next_cursor: null, ended: false };
    assert.deepEqual(await records(scene, pathOf(session, "outputs/later")), empty);
    assert.deepEqual((await records(scene, pathOf(session, "streams"))).streams, []);
    assert.deepEqual(await records(scene, pathOf(session, "outputs/later/read?wait=0s")), empty);
    for (const id of ["sess_01kahvq3rvew2bq7m0tk5c9n4h", "later", session.id.toUpperCase()])
      for (const rest of [
        "inputs/input",
        "outputs/output",
        "outputs/output/read",
        "inputs/input/read?follow=1",
        "streams",
        "runs",
      ])
        assert.equal((await scene.call("GET", `/api/sessions/${id}/${rest}`)).status, 404, `${id} ${rest}`);
    assert.equal((await send(scene, { id: "sess_01kahvq3rvew2bq7m0tk5c9n4h" }, 1)).status, 404);
  });
});

describe("a read", () => {
  test("waits for the first record after the cursor, also of a stream that is not there yet", async () => {
    const session = await startSession(scene);
    const waiting = records(scene, pathOf(session, "outputs/output/read?wait=20s"));
    const mine = records(scene, pathOf(session, "outputs/output/read?wait=20s&correlation_id=mine"));
    await emit(scene, session, 1, { correlation_id: "other" });
    assert.deepEqual(sequencesOf(await waiting), [1]);
    const second = records(scene, pathOf(session, "outputs/output/read?cursor=1"));
    await emit(scene, session, 2, { correlation_id: "mine" });
    assert.deepEqual([sequencesOf(await second), sequencesOf(await mine)], [[2], [2]]);
    const began = performance.now();
    const none = await records(scene, pathOf(session, "outputs/output/read?cursor=2&wait=50ms"));
    assert.deepEqual([none.records, none.next_cursor], [[], "2"]);
    assert.ok(performance.now() - began >= 45);
    for (const wait of ["61s", "x", "-1s"])
      assert.equal(
        (await scene.call("GET", pathOf(session, `outputs/output/read?wait=${wait}`))).status,
        400,
      );
  });

  test("is over when the session has ended and no run of it is live", async () => {
    const session = await startSession(scene);
    await emit(scene, session, 1);
    const lease = await scene.worker.takeOne();
    await scene.call("POST", pathOf(session, "close"));
    const live = await records(scene, pathOf(session, "outputs/output/read?cursor=1&wait=0s"));
    assert.deepEqual([live.records, live.ended], [[], false], "its run may still append");
    const waiting = records(scene, pathOf(session, "outputs/output/read?cursor=1&wait=20s"));
    await scene.worker.finish(lease);
    assert.deepEqual(await waiting, { records: [], next_cursor: "1", ended: true });
    assert.equal((await records(scene, pathOf(session, "outputs/output?limit=1"))).ended, true);
    assert.deepEqual((await records(scene, pathOf(session, "outputs/never/read"))).ended, true);
  });

  test("streams records until the end, and goes on after the last one received", async () => {
    const session = await startSession(scene);
    const path = pathOf(session, "outputs/output/read?follow=1");
    const following = readEvents(scene.server, path);
    for (const n of upTo(5)) await emit(scene, session, n, { correlation_id: n % 2 === 0 ? "even" : "odd" });
    const lease = await scene.worker.takeOne();
    await scene.call("POST", pathOf(session, "close"));
    await scene.worker.finish(lease);
    await sessionKnows(scene, lease.runId);
    const events = await following;
    assert.deepEqual(
      events.map(({ event, id }) => [event, id]),
      [...upTo(5).map((n) => ["record", String(n)]), ["end", "5"]],
    );
    assert.deepEqual(events[0]?.data, (await records(scene, pathOf(session, "outputs/output"))).records[0]);
    assert.deepEqual(events.at(-1)?.data, { session_id: session.id, stream: "output", status: "closed" });
    const rest = await readEvents(scene.server, pathOf(session, "outputs/output/read?cursor=1"), {
      headers: { accept: "text/event-stream", "last-event-id": "4" },
    });
    assert.deepEqual(
      rest.map(({ event, id }) => [event, id]),
      [
        ["record", "5"],
        ["end", "5"],
      ],
    );
    const even = await readEvents(scene.server, `${path}&correlation_id=even`);
    assert.deepEqual(
      even.map(({ id }) => id),
      ["2", "4", "4"],
    );
    const never = await readEvents(scene.server, pathOf(session, "outputs/never/read?follow=1"));
    assert.deepEqual(
      never.map(({ event }) => event),
      ["end"],
    );
  });

  test("of input shows what was sent, to followers too", async () => {
    const session = await startSession(scene);
    const following = readEvents(scene.server, pathOf(session, "inputs/input/read?follow=1"), {
      until: ({ id }) => id === "2",
    });
    await send(scene, session, "a");
    await endTurn(scene, session);
    await send(scene, session, "b");
    assert.deepEqual(
      (await following).map(({ data }) => data.data),
      ["a", "b"],
    );
    assert.deepEqual(sequencesOf(await records(scene, pathOf(session, "inputs/input/read?cursor=1"))), [2]);
  });
});

describe("a session's streams", () => {
  test("are reached by external id, on both families", async () => {
    const session = await startSession(scene, { external_id: "by name" });
    const query = "external_id=by%20name";
    for (const [n, [method, path, body]] of (
      [
        ["POST", `/api/sessions/by-external-id/inputs/input?${query}`, { data: 1 }],
        ["POST", `/v1/sessions/by-external-id/inputs?${query}`, { data: 2 }],
        ["POST", `/v1/sessions/by-external-id/inputs?${query}&stream=input`, { data: 3 }],
        ["POST", `/v1/sessions/${session.id}/inputs`, { data: 4, stream: "input" }],
        ["POST", `/v1/sessions/${session.id}/inputs`, { data: 5 }],
      ] as const
    ).entries()) {
      const answer = await scene.call(method, path, { body });
      assert.deepEqual(
        [answer.status, answer.body.sequence, answer.body.data],
        [201, n + 1, n + 1],
        answer.text,
      );
    }
    for (const path of [
      `/api/sessions/by-external-id/inputs/input?${query}`,
      `/api/sessions/by-external-id/inputs/input/read?${query}`,
      `/v1/sessions/by-external-id/inputs?${query}`,
      `/v1/sessions/${session.id}/inputs?stream=input`,
      `/v1/sessions/${session.id}/inputs/read`,
    ])
      assert.deepEqual(sequencesOf(await records(scene, path)), upTo(5), path);
    assert.equal(
      (
        await scene.call("POST", `/v1/sessions/${session.id}/outputs?stream=a`, {
          body: { data: 1, stream: "b" },
        })
      ).status,
      400,
    );
    assert.equal(
      (await scene.call("POST", `/v1/sessions/${session.id}/outputs`, { body: { data: 1, stream: "named" } }))
        .body.stream,
      "named",
    );
    assert.deepEqual(
      sequencesOf(await records(scene, `/v1/sessions/by-external-id/outputs?${query}&stream=named`)),
      [1],
    );
    assert.equal((await scene.call("GET", "/api/sessions/by-external-id?external_id=nobody")).status, 404);
    assert.equal((await scene.call("GET", "/api/sessions/by-external-id")).status, 400);
    assert.equal(
      (await scene.call("POST", `/v1/sessions/by-external-id/close?${query}`, { body: {} })).body.status,
      "closed",
    );
    assert.equal((await scene.call("GET", `/v1/sessions/by-external-id?${query}`)).body.id, session.id);
    assert.equal((await scene.call("GET", `/v1/sessions/by-external-id/runs?${query}`)).body.runs.length, 1);
  });
});
