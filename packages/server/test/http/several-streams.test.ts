// Several streams of a session over one connection: each record once and in the order of its stream, wherever a reader was cut off.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { countEnded } from "../support/count-runs.ts";
import { openDrops } from "../support/drop-in.ts";
import { readEvents, type ReadOptions, type ServerSentEvent } from "../support/read-events.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { newSeed, pick, seededRandom } from "../support/seeded-random.ts";
import {
  cancelSessions,
  emit,
  endTurn,
  records,
  send,
  sessionKnows,
  startSession,
} from "../support/session-scene.ts";

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }], actors: [{ id: "chat" }] });
});
after(() => scene.stop());
afterEach(() => cancelSessions(scene));

const pathOf = (session: Json, streams: string, more = ""): string =>
  `/api/sessions/${session.id}/outputs/${streams}/read?follow=1${more}`;
const follow = (session: Json, streams: string, options: ReadOptions = {}): Promise<ServerSentEvent[]> =>
  readEvents(scene.server, pathOf(session, streams), options);
const from = (id: string): ReadOptions => ({ headers: { "last-event-id": id } });
const sorted = (rows: unknown[][]): unknown[][] => rows.toSorted((a, b) => (String(a) < String(b) ? -1 : 1));
const placesOf = (events: ServerSentEvent[]): unknown[] =>
  events.map(({ event, id, data }) => [event, id, data.stream ?? data.streams]);

async function endSession(session: Json): Promise<void> {
  const lease = await scene.worker.takeOne();
  await scene.call("POST", `/api/sessions/${session.id}/close`);
  await scene.worker.finish(lease);
  await sessionKnows(scene, lease.runId);
}

describe("several streams over one connection", () => {
  test("say with each event the place in all of them, and end together", async () => {
    const session = await startSession(scene);
    for (const [data, stream] of [
      [1, "notes"],
      [2, "answer"],
      [3, "answer"],
    ] as const)
      await emit(scene, session, data, {}, stream);
    const early = await follow(session, "answer", { until: ({ id }) => id === "2" });
    const following = follow(session, "answer,notes,later", {
      ...from("notes:1"),
      until: ({ id }) => id === "answer:2,notes:1,later:1",
    });
    await emit(scene, session, 4, {}, "later");
    const events = await following;
    assert.deepEqual(
      events.filter(({ data }) => data.stream === "answer").map(({ data }) => data),
      early.map(({ data }) => data),
    );
    await endSession(session);
    const all = await follow(session, "answer,notes,later", from("answer:1,later:1"));
    assert.deepEqual(
      new Set(placesOf(all.slice(0, 2)).map((place) => (place as string[])[2])),
      new Set(["answer", "notes"]),
    );
    assert.deepEqual(placesOf(all.slice(2)), [
      ["end", "answer:2,notes:1,later:1", ["answer", "notes", "later"]],
    ]);
    assert.deepEqual(all.at(-1)?.data, {
      ...{ session_id: session.id, streams: ["answer", "notes", "later"], status: "closed" },
    });
  });

  test("have no gap and no repeat for readers who are cut off anywhere, while many append", async (context) => {
    const seed = newSeed();
    context.diagnostic(`seed ${seed}`);
    const random = seededRandom(seed);
    const names = ["one", "two", "three"];
    const session = await startSession(scene);
    const each = 150;
    const appending = names.map(async (name) => {
      for (let sent = 0; sent < each; sent += 3) {
        const batch = [sent, sent + 1, sent + 2].map((data) => ({ data }));
        const path = `/api/sessions/${session.id}/outputs/${name}`;
        assert.equal((await scene.call("POST", path, { body: { records: batch } })).status, 201);
      }
    });
    const read = async (): Promise<void> => {
      const seen = new Map<string, number[]>(names.map((name) => [name, []]));
      const isDone = (): boolean => [...seen.values()].every(({ length }) => length === each);
      let last = "";
      while (!isDone()) {
        let left = 1 + Math.floor(random() * 40);
        const events = await follow(session, names.join(","), {
          ...(last === "" ? {} : from(last)),
          until: ({ data }) => {
            seen.get(data.stream)?.push(data.sequence);
            left -= 1;
            return left === 0 || isDone();
          },
        });
        last = events.at(-1)?.id ?? last;
      }
      const upTo = Array.from({ length: each }, (_, n) => n + 1);
      for (const [name, sequences] of seen) assert.deepEqual(sequences, upTo, name);
    };
    await Promise.all([
      ...appending,
      read(),
      read(),
      follow(session, pick(random, names), { until: ({ id }) => id === String(each) }),
    ]);
  });

  test("narrow to a correlation id, are of either direction, and of /v1 by the query", async () => {
    const session = await startSession(scene);
    for (const stream of ["a", "b"])
      for (const correlation_id of ["q1", "q2"])
        await emit(scene, session, stream, { correlation_id }, stream);
    const narrowed = await readEvents(scene.server, pathOf(session, "a,b", "&correlation_id=q2"), {
      until: ({ id }) => id === "a:2,b:2",
    });
    assert.deepEqual(sorted(narrowed.map(({ data }) => [data.stream, data.correlation_id])), [
      ["a", "q2"],
      ["b", "q2"],
    ]);
    await send(scene, session, "said");
    const inputs = await readEvents(
      scene.server,
      `/v1/sessions/${session.id}/inputs/read?stream=input,edits&follow=1`,
      {
        until: ({ data }) => data.stream === "input",
      },
    );
    assert.deepEqual(placesOf(inputs), [["record", "input:1,edits:0", "input"]]);
  });

  test("say of which stream records are no longer kept", async () => {
    const session = await startSession(scene);
    for (const stream of ["a", "a", "b"]) await emit(scene, session, 1, {}, stream);
    await endSession(session);
    await countEnded(scene.server.db, scene.clock.now);
    await openDrops(scene).dropIn(3, { recordsMs: 1000 });
    const events = await follow(session, "a,b");
    assert.deepEqual(sorted(events.map(({ event, data }) => [event, data.stream, data.earliest_cursor])), [
      ["end", undefined, undefined],
      ["gap", "a", "2"],
      ["gap", "b", "1"],
    ]);
    assert.equal(events.at(-1)?.id, "a:2,b:1");
  });

  test("are refused where they are read as pages, twice, too many, of the other direction, or from no place of theirs", async () => {
    const session = await startSession(scene);
    await send(scene, session, 1);
    await endTurn(scene, session);
    const refusal = async (path: string): Promise<unknown> => {
      const { status, body } = await scene.call("GET", path);
      return [status, body.error.code, body.error.message];
    };
    const page = `/api/sessions/${session.id}/outputs/a,b/read?wait=0s`;
    assert.deepEqual(await refusal(page), [
      400,
      "invalid_request",
      "stream: several streams are read with follow=1",
    ]);
    assert.deepEqual(await refusal(pathOf(session, "a,a")), [
      400,
      "invalid_request",
      "stream: name each stream once",
    ]);
    const many = Array.from({ length: 11 }, (_, n) => `s${n}`).join(",");
    assert.deepEqual(await refusal(pathOf(session, many)), [
      400,
      "invalid_request",
      "stream: name at most 10 streams",
    ]);
    assert.equal(((await refusal(pathOf(session, "a,"))) as unknown[])[1], "invalid_request");
    assert.equal(((await refusal(pathOf(session, "a,input"))) as unknown[])[1], "stream_direction_mismatch");
    for (const cursor of ["7", "c:1", "a:1,a:2", "a:", "a:x", "a:1:2", "a:1,"])
      assert.deepEqual(
        ((await refusal(pathOf(session, "a,b", `&cursor=${cursor}`))) as unknown[]).slice(0, 2),
        [400, "invalid_cursor"],
        cursor,
      );
    assert.equal(((await refusal(pathOf(session, "a", "&cursor=a:1"))) as unknown[])[1], "invalid_cursor");
    const { streams } = await records(scene, `/api/sessions/${session.id}/streams`);
    assert.deepEqual(streams.map(({ name }: Json) => name).sort(), ["a", "input"]);
  });
});
