// Events that the rows of a run imply are not stored, and read all the same.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { sql } from "../../src/db/sql.ts";
import type { HeldLease } from "../support/raw-worker.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain", retry: { max_attempts: 2, initial_delay: "1s" } }] });
});
after(() => scene.stop());
afterEach(() => scene.cancelAll());

const eventsOf = async (runId: string, query = ""): Promise<Json[]> =>
  (await scene.call("GET", `/v1/runs/${runId}/events?limit=200${query}`)).body.events;

/** The kinds that have a row. */
const storedOf = async (runId: string): Promise<string[]> => {
  const rows = await scene.server.db.query<{ events: string }>(sql`
    SELECT events FROM run_events WHERE run_id = ${decodeId("run", runId)} ORDER BY sequence`);
  return rows.flatMap(({ events }) => JSON.parse(events).map(({ k }: { k: string }) => k));
};

/** A run that waited for a minute, and its lease, on which nothing was reported yet. */
async function leased(): Promise<HeldLease> {
  const { id } = await scene.start("plain");
  scene.clock.advance(60_000);
  const lease = await scene.worker.takeOne();
  assert.equal(lease.runId, id);
  return lease;
}

const PLAIN = ["run.created", "run.queued", "run.leased", "run.started", "run.succeeded"];
const COURSES: readonly {
  name: string;
  kinds: readonly string[];
  stored: readonly string[];
  go: () => Promise<string>;
}[] = [
  {
    name: "succeeds at once",
    kinds: PLAIN,
    stored: [],
    go: async () => {
      const lease = await leased();
      await scene.worker.finish(lease);
      return lease.runId;
    },
  },
  {
    name: "succeeds later than it starts",
    kinds: PLAIN,
    stored: [],
    go: async () => {
      const lease = await leased();
      await scene.worker.report(lease.operation("start"));
      scene.clock.advance(5_000);
      await scene.worker.report(lease.operation("release", { outcome: "succeeded" }));
      return lease.runId;
    },
  },
  {
    name: "says something in between",
    kinds: [...PLAIN.slice(0, 4), "metadata.updated", "run.succeeded"],
    stored: ["metadata.updated"],
    go: async () => {
      const lease = await leased();
      const changes = [{ op: "set", key: "a", value: 1 }];
      await scene.worker.report(
        lease.operation("start"),
        lease.operation("metadata", { changes }),
        lease.operation("release", { outcome: "succeeded" }),
      );
      return lease.runId;
    },
  },
  {
    name: "fails",
    kinds: [...PLAIN.slice(0, 4), "run.failed"],
    stored: ["run.failed"],
    go: async () => {
      const lease = await leased();
      await scene.worker.finish(lease, "failed", {
        failure: { kind: "application_error", message: "no", stack: null, retryable: false },
      });
      return lease.runId;
    },
  },
  {
    name: "is cancelled before anybody took it",
    kinds: ["run.created", "run.queued", "run.cancelled"],
    stored: [],
    go: async () => {
      const { id } = await scene.start("plain");
      scene.clock.advance(60_000);
      await scene.cancel(id);
      return id;
    },
  },
  {
    name: "is cancelled while it runs",
    kinds: [...PLAIN.slice(0, 4), "run.cancel_requested", "run.cancelled"],
    stored: ["run.cancel_requested"],
    go: async () => {
      const lease = await leased();
      await scene.worker.report(lease.operation("start"));
      await scene.cancel(lease.runId);
      await scene.worker.report(lease.operation("release", { outcome: "cancelled" }));
      return lease.runId;
    },
  },
  {
    name: "is handed back before its code began, and succeeds elsewhere",
    kinds: [...PLAIN.slice(0, 3), "run.queued", "run.leased", "run.started", "run.succeeded"],
    stored: ["run.queued", "run.leased", "run.started"],
    go: async () => {
      const first = await leased();
      await scene.worker.report(first.operation("release", { outcome: "rejected" }));
      const lease = await scene.worker.takeOne();
      await scene.worker.finish(lease);
      return lease.runId;
    },
  },
];

for (const { name, kinds, stored, go } of COURSES)
  describe(`a run that ${name}`, () => {
    test("has all of its events, of which only what its rows do not say is stored", async () => {
      const runId = await go();
      const events = await eventsOf(runId);
      assert.deepEqual(
        events.map(({ kind }) => kind),
        kinds,
      );
      assert.deepEqual(await storedOf(runId), stored);
    });

    test("is read the same by pages of one, from each cursor", async () => {
      const runId = await go();
      const events = await eventsOf(runId);
      for (const [index, event] of events.entries()) {
        const { body } = await scene.call("GET", `/v1/runs/${runId}/events?limit=1&cursor=${index}`);
        assert.deepEqual(body.events, [event]);
        assert.equal(body.next_cursor, index + 1 === events.length ? null : String(index + 1));
        assert.deepEqual(await eventsOf(runId, `&cursor=${index}`), events.slice(index));
      }
    });

    test("is followed the same while it happens", async () => {
      const runId = await go();
      const events = await eventsOf(runId);
      const { data } = await scene.happens(runId, kinds.at(-1) as string);
      assert.deepEqual(data, events.at(-1));
    });
  });

/** Seconds after the first one. */
const timesOf = (events: readonly Json[]): number[] =>
  events.map(({ at }) => (Date.parse(at) - Date.parse(events[0].at)) / 1_000);

/** It was leased after a minute, and ran for 5 s. */
async function ranFor5s(): Promise<string> {
  const lease = await leased();
  await scene.worker.report(lease.operation("start"));
  scene.clock.advance(5_000);
  await scene.worker.report(lease.operation("release", { outcome: "succeeded" }));
  return lease.runId;
}

test("implied events say when they happened, and in which attempt", async () => {
  const events = await eventsOf(await ranFor5s());
  assert.deepEqual(timesOf(events), [0, 0, 60, 60, 65]);
  assert.deepEqual(
    events.map(({ attempt_number: attempt, severity }) => [attempt, severity]),
    [null, null, 1, 1, 1].map((attempt) => [attempt, "info"]),
  );
});

test("a run that was leased by this version and ended by the version before has all of its events", async () => {
  const runId = await ranFor5s();
  await scene.server.db.query(sql`
    UPDATE run_results SET first_leased_at = NULL WHERE run_id = ${decodeId("run", runId)}`);
  const events = await eventsOf(runId);
  assert.deepEqual(
    events.map(({ kind }) => kind),
    PLAIN,
  );
  assert.deepEqual(timesOf(events), [0, 0, 60, 60, 65]);
});

test("stored events go before implied ones, as those of a run of the version before", async () => {
  const runId = await ranFor5s();
  const stored = PLAIN.map((k, index) => ({ k, t: index * 1_000, m: "stored" }));
  await scene.server.db.query(sql`
    INSERT INTO run_events (environment_id, run_id, sequence, last_sequence, events)
    SELECT environment_id, id, 1, 5, ${JSON.stringify(stored)} FROM runs WHERE id = ${decodeId("run", runId)}`);
  const events = await eventsOf(runId);
  assert.deepEqual(
    events.map(({ message }) => message),
    PLAIN.map(() => "stored"),
  );
  assert.deepEqual(timesOf(events), [0, 1, 2, 3, 4]);
});

test("a run whose stored events were dropped has none, and one that had none stored keeps what its rows say", async () => {
  const whole = await ranFor5s();
  const lease = await leased();
  const changes = [{ op: "set", key: "a", value: 1 }];
  await scene.worker.report(lease.operation("start"), lease.operation("metadata", { changes }));
  await scene.worker.report(lease.operation("release", { outcome: "succeeded" }));
  await scene.server.db.query(sql`DELETE FROM run_events`);
  assert.equal((await eventsOf(whole)).length, 5);
  assert.deepEqual(await eventsOf(lease.runId), []);
  const { status, body } = await scene.call("GET", `/v1/runs/${lease.runId}/events?cursor=4`);
  assert.deepEqual([status, body.error.code], [410, "cursor_expired"]);
});
