// Runs in workspaces and isolated ones while somebody holds an old snapshot: claims are given their ids and look at no others.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, beforeEach, describe, test } from "node:test";
import { decodeId, type Uuid } from "@keelson/contract";
import { createDeploymentCache } from "../../src/core/entrypoints/deployment-cache.ts";
import type { ClaimContext } from "../../src/core/executions/claim-executions.ts";
import type { KnownRuns, RunKind } from "../../src/core/executions/known-runs.ts";
import { createLeasePolls } from "../../src/core/executions/lease-polls.ts";
import { createWakes } from "../../src/core/feeds/wakes.ts";
import type { NewRun } from "../../src/core/runs/new-run.ts";
import { resolveStart } from "../../src/core/runs/resolve-start.ts";
import { createRunStarter } from "../../src/core/runs/start-runs.ts";
import { startRunsWithin } from "../../src/core/runs/start-runs-within.ts";
import { findLeaseState } from "../../src/core/workers/lease-state-reads.ts";
import { createDatabase } from "../../src/db/pool.ts";
import { sql } from "../../src/db/sql.ts";
import { holding } from "../support/hold-snapshot.ts";
import { readPlan } from "../support/read-plan.ts";
import { readyRunsOf, type ReadyRuns } from "../support/ready-runs.ts";
import { recordOwnQueries } from "../support/record-queries.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { until } from "../support/until.ts";

const ENDED = 6_000;
const LEASE_MS = 15_000;
const ROOMS = 2;

/** Each with a task of it. */
const KINDS: readonly [RunKind, string][] = [
  ["inWorkspace", "build"],
  ["isolated", "isolated"],
];

let scene: RunScene;
let ready: ReadyRuns;
let workerId: Uuid<"wkr">;
before(async () => {
  scene = await startRunScene({
    tasks: [{ id: "plain" }, { id: "build", sandbox: "node" }, { id: "isolated", isolation: "namespace" }],
    sandboxes: [{ id: "node" }],
  });
  ready = await readyRunsOf(scene);
  workerId = decodeId("wkr", scene.worker.id) as Uuid<"wkr">;
  await scene.server.db.query(sql`
    UPDATE workers SET capacity_workspaces = ${ROOMS}, isolation = 'namespace', task_isolation = 'namespace' WHERE id = ${workerId}`);
});
after(() => scene?.stop());
beforeEach(async () => {
  await scene.server.db.query(sql`DELETE FROM executions`);
  await scene.server.db.maintain(sql`VACUUM executions`);
});

/** Ready runs as another server makes them: this one hears of none. */
async function add(kind: RunKind, runs: number, workspaceId = randomUUID()): Promise<void> {
  const environmentId = randomUUID();
  await ready.add([environmentId], runs);
  await scene.server.db.query(sql`
    UPDATE executions SET workspace_id = ${kind === "inWorkspace" ? workspaceId : null},
      required_isolation = ${kind === "isolated" ? "namespace" : null}
    WHERE environment_id = ${environmentId}`);
}

const resolve = async (task: string): Promise<NewRun> => {
  const { db, credentials } = scene.server;
  const [place] = await db.query<{ environmentId: Uuid<"env">; projectId: Uuid<"proj"> }>(sql`
    SELECT id AS environment_id, project_id FROM environments WHERE id = ${decodeId("env", credentials.environment_id)}`);
  assert.ok(place);
  return resolveStart(
    { deployments: createDeploymentCache({ db, clock: scene.clock.now }), admit: () => undefined },
    {
      ...{ ...place, kind: "task", entrypoint: task, body: {}, idempotencyKey: null },
      ...{ clientVersion: null, cliVersion: null, sdkVersion: null },
    },
    ready.newUuid,
    scene.clock.now(),
  );
};

/** Starts a run as a caller does. */
async function startAlone(run: NewRun, knownRuns: KnownRuns): Promise<void> {
  const starter = createRunStarter({
    ...{ db: scene.server.db, clock: scene.clock.now, newUuid: ready.newUuid, leaseDurationMs: LEASE_MS },
    ...{ wakes: createWakes(() => undefined), leasePolls: createLeasePolls(), knownRuns },
  });
  assert.equal((await starter.start(run)).kind, "created");
}

/** Starts a run as a schedule or a parent does, in a transaction that writes more. */
async function startWithin(run: NewRun, knownRuns: KnownRuns): Promise<void> {
  const db = createDatabase({
    ...{
      url: scene.server.db.directUrl,
      poolSize: 1,
      statementNames: true,
      onConnectionLost: () => undefined,
    },
    note: (fact) => {
      if (fact.kind === "starts") knownRuns.noteStarts(fact.runs);
    },
  });
  try {
    await db.transaction(async (tx) => assert.equal((await startRunsWithin(tx, [run])).size, 1));
  } finally {
    await db.close();
  }
}

const claimedIds = async (context: ClaimContext, limit: number): Promise<string[]> =>
  (await ready.claim(context, limit)).map(({ runId }) => runId);

for (const [kind, task] of KINDS)
  describe(`a run that is ${kind === "inWorkspace" ? "in a workspace" : kind}`, () => {
    for (const [how, start] of [
      ["by a caller", startAlone],
      ["within a transaction", startWithin],
    ] as const)
      test(`is known from its start ${how}, and claimed by its id`, async () => {
        const context = ready.begin(true);
        await context.readyFronts.of(ready.workerGroupId);
        const run = await resolve(task);
        await start(run, context.knownRuns);
        const known = context.knownRuns.listOf(ready.workerGroupId, kind);
        assert.deepEqual(
          known.map(({ runId }) => runId),
          [run.id],
        );
        assert.deepEqual(await claimedIds(context, 4), [run.id]);
        assert.deepEqual(context.knownRuns.listOf(ready.workerGroupId, kind), []);
      });

    test("is claimed past all that came and went", () =>
      holding(scene.server.db, async () => {
        await add(kind, ENDED);
        await scene.server.db.query(sql`UPDATE executions SET ready = false`);
        await scene.server.db.query(sql`DELETE FROM executions`);
        const context = ready.begin(true);
        await context.readyFronts.of(ready.workerGroupId);
        await startAlone(await resolve(task), context.knownRuns);
        const statements = await ready.recordClaim(context, 1);
        let blocks = 0;
        for (const statement of statements) blocks += (await readPlan(scene.server.db, statement)).blocks;
        assert.ok(blocks < 200, `${blocks} blocks`);
      }));

    test("is found by a look when another server made it ready", async () => {
      const context = ready.begin(true);
      await context.readyFronts.of(ready.workerGroupId);
      await add(kind, 3);
      let claimed = 0;
      await until("all three are claimed", 60_000, async () => {
        claimed += (await claimedIds(context, 2)).length;
        return claimed === 3;
      });
    });
  });

test("workspaces whose runs others have taken leave the room to those that wait", async () => {
  const context = ready.begin(true);
  for (let stale = 0; stale < 20; stale += 1) await add("inWorkspace", 1);
  await context.readyFronts.of(ready.workerGroupId);
  assert.equal(context.knownRuns.listOf(ready.workerGroupId, "inWorkspace").length, 20);
  await scene.server.db.query(sql`UPDATE executions SET ready = false`);
  const run = await resolve("build");
  await startAlone(run, context.knownRuns);
  assert.deepEqual(await claimedIds(context, 1), [run.id]);
});

test("of a long backlog in one workspace, a claim is given as many runs as it may take", async () => {
  const context = ready.begin(true);
  const workspaceId = randomUUID();
  await add("inWorkspace", 40, workspaceId);
  const other = await resolve("build");
  await context.readyFronts.of(ready.workerGroupId);
  await startAlone(other, context.knownRuns);
  const claimed = await claimedIds(context, 4);
  assert.equal(claimed.length, 4);
  assert.ok(claimed.includes(other.id));
  assert.equal((await claimedIds(context, 4)).length, 4);
});

test("a call for work asks for none of these where they are known", () =>
  holding(scene.server.db, async () => {
    for (const [kind] of KINDS) await add(kind, ENDED);
    await scene.server.db.query(sql`UPDATE executions SET ready = false`);
    const costOf = async (areRunsKnown: boolean): Promise<number> => {
      const [statement] = await recordOwnQueries(async () => {
        await findLeaseState(scene.server.db, workerId, randomUUID(), { areRunsKnown, asksForOthers: false });
      });
      assert.ok(statement);
      return (await readPlan(scene.server.db, statement)).blocks;
    };
    const [looking, known] = [await costOf(false), await costOf(true)];
    assert.ok(known < 20, `${known} blocks`);
    assert.ok(looking > 3 * known, `${looking} and ${known} blocks`);
  }));
