// Whoever gives a slot of a limited queue reads what it gives, however many wait.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { decodeId, type Uuid } from "@keelson/contract";
import { admitQueues } from "../../src/core/queues/admit-limited-runs.ts";
import { sql } from "../../src/db/sql.ts";
import { readPlan } from "../support/read-plan.ts";
import { recordOwnQueries } from "../support/record-queries.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";

const BACKLOG = 3_000;
const BATCH = 500;
const KEYS = 10;

type Form = {
  name: string;
  queue: object;
  /** Of the n-th run. */
  key: (n: number) => string | null;
  /** Slots that are held from the beginning. */
  held: number;
  /** Rows that may be read for the slot that one run has given back. */
  most: number;
};

const everyTenth = (n: number): string => `k${n % KEYS}`;
const FORMS: Form[] = [
  { name: "ten concurrency keys", queue: {}, key: everyTenth, held: KEYS, most: 10 },
  { name: "a limit", queue: { concurrency_limit: 3 }, key: () => null, held: 3, most: 40 },
  { name: "a limit, and ten keys", queue: { concurrency_limit: 3 }, key: everyTenth, held: 3, most: 80 },
  {
    name: "a limit, and one key before all others",
    queue: { concurrency_limit: 3 },
    key: (n) => (n < BACKLOG - 6 ? "k0" : `k${n % KEYS}`),
    held: 3,
    most: 1_300,
  },
];

for (const { name, queue, key, held, most } of FORMS)
  describe(`with ${name}`, () => {
    let scene: RunScene;
    before(async () => {
      scene = await startRunScene({
        tasks: [{ id: "limited", queue: "q" }],
        queues: [{ name: "q", ...queue }],
      });
    });
    after(() => scene.stop());

    test(`a slot that is given back costs at most ${most} rows, before a backlog of ${BACKLOG}`, async () => {
      for (let at = 0; at < BACKLOG; at += BATCH) {
        const starts = Array.from({ length: BATCH }, (_, index) => {
          const concurrencyKey = key(at + index);
          return { task: "limited", ...(concurrencyKey !== null && { concurrency_key: concurrencyKey }) };
        });
        assert.equal((await scene.call("POST", "/v1/tasks/start-batch", { body: { starts } })).status, 200);
      }
      const { executions } = await scene.worker.lease({ limit: 50 });
      assert.equal(executions.length, held);
      const first = executions[0].run;
      const environmentId = decodeId("env", first.environment_id) as Uuid<"env">;
      const { db } = scene.server;
      const [gone] = await db.query<{ concurrencyKey: string | null }>(sql`
        DELETE FROM executions WHERE environment_id = ${environmentId} AND run_id = ${decodeId("run", first.id)}
        RETURNING concurrency_key`);
      const slot = { environmentId, queue: "q", concurrencyKey: gone?.concurrencyKey ?? null };
      let admitted = 0;
      const undone = new Error("undone");
      const queries = await recordOwnQueries(() =>
        db
          .transaction(async (tx) => {
            admitted = await admitQueues(tx, [slot]);
            throw undone;
          })
          .catch((error: unknown) => assert.equal(error, undone)),
      );
      assert.equal(admitted, 1);
      let read = 0;
      const scans: string[] = [];
      for (const query of queries.filter(({ text }) => text.includes("executions"))) {
        const plan = await readPlan(db, query);
        read += plan.read;
        scans.push(...plan.scans);
      }
      assert.ok(read <= most, `${read} rows: ${scans.join("; ")}`);
    });
  });
