// Random starts, ends, continuations and changes of limits: who has a slot is whom a plain look at all runs gives it to.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { decodeId, encodeId } from "@keelson/contract";
import fc from "fast-check";
import { sql } from "../../src/db/sql.ts";
import type { HeldLease } from "../support/raw-worker.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { newSeed } from "../support/seeded-random.ts";
import { until } from "../support/until.ts";

fc.configureGlobal({ seed: newSeed() });

type Limits = { concurrency_limit?: number; concurrency_key_limit?: number };
type Step =
  | { kind: "start"; runs: { key: string | null; priority: number }[] }
  | { kind: "finish" | "cancel" | "continue"; at: number }
  /** The second of all that have continued is over. */
  | { kind: "due" }
  | { kind: "limits"; limits: Limits };

const limits = fc.record(
  {
    concurrency_limit: fc.integer({ min: 1, max: 4 }),
    concurrency_key_limit: fc.integer({ min: 1, max: 2 }),
  },
  { requiredKeys: [] },
);
const run = fc.record({
  key: fc.constantFrom(null, "a", "b", "c"),
  priority: fc.constantFrom(-1, 0, 0, 0, 1),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("start" as const),
      runs: fc.array(run, { minLength: 1, maxLength: 12 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constantFrom("finish" as const, "cancel" as const), at: fc.nat() }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("continue" as const), at: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("due" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("limits" as const), limits }) },
);

/** A run of the queue, as the test knows it. */
type Known = {
  id: string;
  key: string | null;
  priority: number;
  isLimited: boolean;
  hasSlot: boolean;
  /** It has continued, and is not due again. */
  isDelayed: boolean;
};

/** Gives free slots as the documentation says: to the highest priority, then to the oldest, of keys that have one left. */
function giveSlots(
  runs: readonly Known[],
  { concurrency_limit: total = Infinity, concurrency_key_limit: perKey = 1 }: Limits,
): void {
  const limited = runs.filter(({ isLimited, isDelayed }) => isLimited && !isDelayed);
  const inOrder = limited.toSorted((a, b) => b.priority - a.priority || (a.id < b.id ? -1 : 1));
  for (const run of inOrder) {
    const holders = limited.filter(({ hasSlot }) => hasSlot);
    if (run.hasSlot || holders.length >= total) continue;
    run.hasSlot = run.key === null || holders.filter(({ key }) => key === run.key).length < perKey;
  }
}

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "limited", queue: "q" }] });
});
after(() => scene.stop());

async function holders(): Promise<string[]> {
  const rows = await scene.server.db.query<{ runId: string }>(sql`
    SELECT run_id FROM executions
    WHERE environment_id = ${decodeId("env", scene.server.credentials.environment_id)} AND limited AND admitted`);
  return rows.map(({ runId }) => runId).sort();
}

/** Leases whatever is ready. */
async function leaseAll(leases: Map<string, HeldLease>): Promise<void> {
  const { executions } = await scene.worker.lease({ limit: 100 });
  for (const execution of executions) {
    const lease = scene.worker.hold(execution);
    leases.set(decodeId("run", lease.runId) as string, lease);
  }
}

async function continues(run: Known, leases: Map<string, HeldLease>): Promise<void> {
  await leaseAll(leases);
  const lease = leases.get(run.id);
  if (lease === undefined) return;
  leases.delete(run.id);
  await scene.worker.finish(lease, "continued", { payload: null });
  Object.assign(run, { hasSlot: false, isDelayed: true });
}

/** Until a server has made all ready that have continued. */
async function becomeDue(known: readonly Known[], leases: Map<string, HeldLease>): Promise<void> {
  if (leases.size > 0) await scene.worker.renew(...leases.values());
  scene.clock.advance(1_000);
  await until("all are due", 60_000, async () => {
    const delayed = await scene.server.db.query(sql`SELECT FROM executions WHERE available_at IS NOT NULL`);
    return delayed.length === 0;
  });
  for (const run of known) run.isDelayed = false;
}

async function follows(first: Limits, steps: readonly Step[]): Promise<void> {
  await scene.cancelAll();
  let current = first;
  const known: Known[] = [];
  const leases = new Map<string, HeldLease>();
  const deploy = () =>
    scene.deploy({ tasks: [{ id: "limited", queue: "q" }], queues: [{ name: "q", ...current }] });
  await deploy();
  const take = async (taken: Step): Promise<void> => {
    switch (taken.kind) {
      case "limits":
        current = taken.limits;
        await deploy();
        return;
      case "start":
        for (const { key, priority } of taken.runs) {
          const started = await scene.start("limited", {
            priority,
            ...(key !== null && { concurrency_key: key }),
          });
          const isLimited = key !== null || current.concurrency_limit !== undefined;
          const id = decodeId("run", started.id) as string;
          known.push({ id, key, priority, isLimited, hasSlot: false, isDelayed: false });
          giveSlots(known, current);
        }
        return;
      case "due":
        return becomeDue(known, leases);
      case "continue": {
        const run = known[taken.at % Math.max(known.length, 1)];
        return run === undefined || run.isDelayed ? undefined : continues(run, leases);
      }
      default: {
        const [run] = known.splice(taken.at % Math.max(known.length, 1), 1);
        if (run === undefined) return;
        await leaseAll(leases);
        const lease = leases.get(run.id);
        leases.delete(run.id);
        if (lease === undefined) await scene.cancel(encodeId("run", run.id));
        else await scene.worker.finish(lease);
      }
    }
  };
  for (const taken of steps) {
    await take(taken);
    giveSlots(known, current);
    assert.deepEqual(
      await holders(),
      known
        .filter(({ hasSlot }) => hasSlot)
        .map(({ id }) => id)
        .sort(),
    );
  }
  for (const lease of leases.values()) await scene.worker.finish(lease);
}

test(
  "random starts, ends, continuations and limits give slots as a look at all runs does",
  { timeout: 180_000 },
  async () => {
    await fc.assert(fc.asyncProperty(limits, fc.array(step, { minLength: 4, maxLength: 16 }), follows), {
      numRuns: 20,
    });
  },
);
