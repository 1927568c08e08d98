import assert from "node:assert/strict";
import { sql } from "../../../src/db/sql.ts";
import type { Held, Json, Stage } from "./crash-stage.ts";
import {
  beginRun,
  beginSession,
  done,
  goesOn,
  newKey,
  uuidOf,
  waitStatus,
  type Write,
} from "./crash-write.ts";
import { journalOf, passTimeOf, reports, suspendAndResolve } from "./run-crash-writes.ts";

const STEP = { position: 1, kind: "step", name: "step", value: 1 };
const HOUR = { kind: "timer", timeout: "1h" };

/** A run that has continued begins with nothing, once, and its first calls are the first ones again. */
async function goesOnAnew(stage: Stage, { runId }: Held): Promise<void> {
  const next = await stage.begin(runId);
  assert.deepEqual(await journalOf(stage, next), []);
  await done(
    stage,
    next.operation("waits", { waits: [{ position: 1, name: "wait", ...HOUR }], parked: true }),
  );
  await suspendAndResolve(stage, next, () => passTimeOf(stage, next));
}

export const CONTINUATION_WRITES: Write[] = [
  {
    name: "the continuation of a run with a new payload",
    prepare: async (stage) => {
      const held = await beginRun(stage);
      await done(stage, held.operation("steps", { entries: [STEP] }));
      const operations = [
        held.operation("waits", { waits: [{ position: 2, name: "wait", ...HOUR }], parked: false }),
        held.operation("release", { outcome: "continued", payload: { n: 1 } }),
      ];
      return reports(stage, operations, async () => {
        const { continuations, continued_payload: payload } = await stage.get(`/v1/runs/${held.runId}`);
        assert.deepEqual([continuations, payload], [1, { n: 1 }]);
        await goesOnAnew(stage, held);
      });
    },
  },
  {
    name: "the continuation of a turn with input that its code has not",
    prepare: async (stage) => {
      const { session, held } = await beginSession(stage);
      await stage.make(`/api/sessions/${session.id}/inputs/input`, { data: 1, idempotency_key: newKey() });
      const wait = { position: 1, name: "wait", kind: "input", stream: "input" };
      await done(stage, held.operation("waits", { waits: [wait], parked: false }));
      assert.equal(await waitStatus(stage, held.runId), "resolved");
      const released = held.operation("release", { outcome: "continued" });
      return reports(stage, [released], async () => {
        const next = await stage.begin(held.runId);
        const again = next.operation("waits", { waits: [wait], parked: false });
        const [{ result }] = (await done(stage, again)) as [Json];
        assert.deepEqual(result.waits[0].value.data, 1);
        await done(
          stage,
          next.operation("steps", { entries: [{ position: 1, kind: "wait", name: "wait" }] }),
          next.operation("release", { outcome: "succeeded" }),
        );
      });
    },
  },
  {
    name: "a run that has continued and is due",
    prepare: async (stage) => {
      const held = await beginRun(stage);
      await done(
        stage,
        held.operation("steps", { entries: [STEP] }),
        held.operation("release", { outcome: "continued", payload: null }),
      );
      const isDelayed = sql`run_id = ${uuidOf("run", held.runId)} AND available_at IS NOT NULL`;
      await stage.site.db.query(
        sql`UPDATE executions SET available_at = now() + interval '1 hour' WHERE ${isDelayed}`,
      );
      return {
        send: async () => {
          await stage.site.db.query(sql`UPDATE executions SET available_at = now() WHERE ${isDelayed}`);
          await goesOn("the run is due", async () => {
            const left = await stage.site.db.query(sql`SELECT FROM executions WHERE ${isDelayed}`);
            return left.length === 0;
          });
        },
        verify: () => goesOnAnew(stage, held),
      };
    },
  },
];
