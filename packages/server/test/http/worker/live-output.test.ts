// What a run writes reaches those who follow from the memory of the server that stored it, and is what a read gives.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { newMessageId } from "../../../../sdk/src/client/random.ts";
import type { HeldLease } from "../../support/raw-worker.ts";
import { readEvents, type ServerSentEvent } from "../../support/read-events.ts";
import { recordQueries } from "../../support/record-queries.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import { cancelSessions, startSession } from "../../support/session-scene.ts";
import { until } from "../../support/until.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

/** By which a follower reads what is new. */
const READ = /FROM stream_records WHERE/;
const LIMIT_MS = 60_000;

let scene: RunScene;
let session: Json;
let lease: HeldLease;
before(async () => {
  scene = await startRunScene({ tasks: [], actors: [{ id: "chat" }] });
});
after(() => scene.stop());
afterEach(() => cancelSessions(scene));

const pathOf = (streams: string): string => `/api/sessions/${session.id}/outputs/${streams}/read?follow=1`;

/** What a follower has been sent so far. `end` makes it leave with the next event. */
function follow(streams: string): { events: ServerSentEvent[]; end(): void; ended: Promise<unknown> } {
  const events: ServerSentEvent[] = [];
  let isOver = false;
  const ended = readEvents(scene.server, pathOf(streams), {
    until: (event) => {
      events.push(event);
      return isOver;
    },
  });
  return { events, end: () => void (isOver = true), ended };
}

type Written = { stream?: string; message?: { id: string; begins?: true; ends?: string } };
const outputs = (records: unknown[], { stream = "output", message }: Written = {}): Json =>
  lease.operation("outputs", {
    position: null,
    stream,
    ...(message !== undefined && { message }),
    records: records.map((data) => ({ data })),
  });

async function report(...operations: Json[]): Promise<void> {
  const answers = await scene.worker.report(...operations);
  assert.deepEqual(new Set(answers), new Set([200]));
}

/** Reports until one is not read: from then on the follower has everything and waits. @returns how often. */
async function untilNotRead(followed: ServerSentEvent[]): Promise<number> {
  let reported = 0;
  await until("a follower is given what is new without a read", LIMIT_MS, async () => {
    reported += 1;
    const expected = followed.length + 1;
    const queries = await recordQueries(async () => {
      await report(outputs([reported]));
      await until("it has come", LIMIT_MS, async () => followed.length === expected);
    });
    return !queries.some(({ text }) => READ.test(text));
  });
  return reported;
}

async function begin(): Promise<void> {
  session = await startSession(scene, { input: "hi" });
  lease = await scene.worker.takeOne();
  await report(lease.operation("start"));
}

/** What somebody is sent who comes afterwards. */
const readAgain = (streams: string, count: number): Promise<ServerSentEvent[]> => {
  let seen = 0;
  return readEvents(scene.server, pathOf(streams), { until: () => (seen += 1) === count });
};

describe("what a run writes", () => {
  test("is given to a follower who has everything, not read, and is what a read gives", async () => {
    await begin();
    const live = follow("output");
    const before = await untilNotRead(live.events);
    const id = newMessageId();
    const queries = await recordQueries(async () => {
      await report(
        outputs(["one", { two: [2] }], { message: { id, begins: true } }),
        outputs(["aside"], { stream: "notes" }),
        outputs(["three"], { message: { id } }),
        outputs(["four\nfive"], { message: { id, ends: "complete" } }),
      );
      await until("all have come", LIMIT_MS, async () => live.events.length === before + 5);
    });
    assert.deepEqual(
      queries.map(({ text }) => text).filter((text) => READ.test(text)),
      [],
    );
    live.end();
    await report(outputs(["last"]));
    await live.ended;
    assert.deepEqual(live.events, await readAgain("output", before + 6));
  });

  test("is read where it is more than one read gives, and nothing is left out", async () => {
    await begin();
    const live = follow("output,notes");
    const before = await untilNotRead(live.events);
    const long = "x".repeat(50_000);
    await report(...[1, 2, 3].map((part) => outputs([`${long}${part}`])));
    await until("the long ones have come", LIMIT_MS, async () => live.events.length === before + 3);
    await report(...Array.from({ length: 3 }, (_, part) => outputs(Array.from({ length: 100 }, () => part))));
    await until("the many have come", LIMIT_MS, async () => live.events.length === before + 303);
    live.end();
    await report(outputs(["last"], { stream: "notes" }));
    await live.ended;
    const again = await readAgain("output,notes", before + 304);
    const ofStream = (events: ServerSentEvent[], name: string): Json[] =>
      events.map(({ data }) => data).filter(({ stream }: Json) => stream === name);
    for (const name of ["output", "notes"])
      assert.deepEqual(ofStream(live.events, name), ofStream(again, name));
  });
});
