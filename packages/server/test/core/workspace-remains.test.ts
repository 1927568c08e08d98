// What is left of commands, machines and deleted workspaces is dropped, unless something needs it.

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { decodeId, type Uuid } from "@keelson/contract";
import { lockDeletedWorkspaces } from "../../src/core/retention/workspace-retention-writes.ts";
import { rawSql, sql } from "../../src/db/sql.ts";
import { createUuidGenerator } from "../../src/uuid.ts";
import { checkInvariants } from "../crash/support/invariants.ts";
import { openDrops, type Drops } from "../support/drop-in.ts";
import { readPlan } from "../support/read-plan.ts";
import { recordOwnQueries } from "../support/record-queries.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { startSession } from "../support/session-scene.ts";
import { workspaceCalls } from "../support/workspaces.ts";

const DAY_MS = 86_400_000;

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

let scene: RunScene;
let drops: Drops;
let newUuid: () => string;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }], actors: [{ id: "chat" }] });
  newUuid = createUuidGenerator(scene.clock.now);
});
after(() => scene.stop());
beforeEach(() => {
  drops = openDrops(scene);
});

const query = (statement: ReturnType<typeof sql>): Promise<Json[]> => scene.server.db.query(statement);
const environmentId = (): Uuid<"env"> =>
  decodeId("env", scene.server.credentials.environment_id) as Uuid<"env">;

const dropIn: Drops["dropIn"] = (days, policy) => drops.dropIn(days, policy);

const create = async (): Promise<{ id: string; uuid: Uuid<"ws"> }> => {
  const { id } = await workspaceCalls(scene.server).create();
  return { id, uuid: decodeId("ws", id) as Uuid<"ws"> };
};
/** A command that ended now, with input, a signal and output. */
async function ended(workspace: Uuid<"ws">, runId: string | null = null): Promise<string> {
  const id = newUuid();
  await query(sql`
    INSERT INTO processes (environment_id, id, workspace_id, kind, status, cwd, env_names, run_id, finished_at, created_at, updated_at)
    SELECT ${environmentId()}, ${id}, ${workspace}, 'exec', 'exited', '', '{}', ${runId}, at, at, at
    FROM to_timestamp(${scene.clock.now()}::float8 / 1000) AS at`);
  await query(sql`INSERT INTO process_inputs VALUES (${environmentId()}, ${id}, 0, 'x')`);
  await query(
    sql`INSERT INTO process_controls (environment_id, process_id, sequence, kind) VALUES (${environmentId()}, ${id}, 1, 'close')`,
  );
  await query(sql`INSERT INTO process_outputs VALUES (${environmentId()}, ${id}, 'stdout', 0, 'x', now())`);
  return id;
}
const rowsOf = async (processId: string): Promise<number> => {
  const [row] = await query(sql`
    SELECT (SELECT count(*) FROM processes WHERE id = ${processId}) + (SELECT count(*) FROM process_inputs WHERE process_id = ${processId})
      + (SELECT count(*) FROM process_controls WHERE process_id = ${processId})
      + (SELECT count(*) FROM process_outputs WHERE process_id = ${processId}) AS count`);
  return row.count;
};
/** A materialization that ended now; its workspace shows it. */
async function stopped(workspace: Uuid<"ws">, changes = "status = 'stopped'"): Promise<string> {
  const id = newUuid();
  await query(sql`
    INSERT INTO materializations (environment_id, id, workspace_id, worker_group_id, status, epoch, required_isolation, base_version_id,
      worker_id, lease_expires_at, active_at, finished_at, created_at, updated_at)
    SELECT w.environment_id, ${id}, w.id, v.worker_group_id, 'stopped', 1, 'process', w.current_version_id, gen_random_uuid(), at, at, at, at, at
    FROM workspaces w JOIN environments v ON v.id = w.environment_id, to_timestamp(${scene.clock.now()}::float8 / 1000) AS at
    WHERE w.id = ${workspace}`);
  await query(sql`UPDATE materializations SET ${rawSql(changes)} WHERE id = ${id}`);
  await query(sql`UPDATE workspaces SET materialization_id = ${id} WHERE id = ${workspace}`);
  return id;
}
const has = async (table: string, id: string): Promise<boolean> =>
  (await query(sql`SELECT FROM ${rawSql(table)} WHERE id = ${id}`)).length === 1;

/** Refuses to let one row go while `work` runs. */
async function refusing(table: string, id: string, work: () => Promise<void>): Promise<void> {
  await query(
    rawSql(`
      CREATE FUNCTION refuse_drop() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN IF OLD.id = '${id}' THEN RAISE 'this row is unprocessable'; END IF; RETURN OLD; END $$;
      CREATE TRIGGER refuse_drop BEFORE DELETE ON ${table} FOR EACH ROW EXECUTE FUNCTION refuse_drop()`),
  );
  await work();
  await query(rawSql(`DROP TRIGGER refuse_drop ON ${table}; DROP FUNCTION refuse_drop`));
}

/** As a call deletes it. */
async function deleted(): Promise<{ id: string; uuid: Uuid<"ws"> }> {
  const made = await create();
  await scene.call("PATCH", `/api/workspaces/${made.id}`, { body: { tags: ["gone"] } });
  await stopped(made.uuid);
  await stopped(made.uuid);
  await scene.call("DELETE", `/api/workspaces/${made.id}`);
  return made;
}

const MAKERS: { table: string; kind: string; make: () => Promise<string> }[] = [
  { table: "processes", kind: "processes", make: async () => ended((await create()).uuid) },
  {
    ...{ table: "materializations", kind: "materializations" },
    make: async () => {
      const { uuid } = await create();
      const old = await stopped(uuid);
      await stopped(uuid);
      return old;
    },
  },
  { table: "workspaces", kind: "deleted_workspaces", make: async () => (await deleted()).uuid },
];

for (const { table, kind, make } of MAKERS)
  test(`one of the ${kind} that cannot be dropped stops no other, and is shown`, async () => {
    const ids = [await make(), await make(), await make()];
    const [, bad] = ids as [string, string];
    const left = async (): Promise<string[]> => {
      const there = await Promise.all(ids.map((id) => has(table, id)));
      return ids.filter((_, index) => there[index]);
    };
    await refusing(table, bad, async () => {
      await dropIn(100, { processesMs: 90 * DAY_MS });
      assert.deepEqual(await left(), [bad]);
      const failures = await query(sql`SELECT loop, cause FROM loop_failures WHERE item_id = ${bad}`);
      assert.deepEqual(
        failures.map(({ loop }) => loop),
        [`drop-${kind}`],
      );
      assert.match(failures[0].cause, /unprocessable/);
    });
    await dropIn(102, { processesMs: 90 * DAY_MS });
    assert.deepEqual(await left(), []);
  });

describe("ended commands and terminals", () => {
  test("go 90 days after their end with all that was said; active ones stay", async () => {
    const { id, uuid } = await create();
    const [first, active] = [await ended(uuid), await ended(uuid)];
    await query(sql`UPDATE processes SET status = 'running', finished_at = NULL WHERE id = ${active}`);
    await dropIn(89, { processesMs: 90 * DAY_MS });
    await dropIn(400);
    assert.deepEqual([await rowsOf(first), drops.dropped["processes"]], [4, 0]);
    await dropIn(91, { processesMs: 90 * DAY_MS });
    assert.deepEqual([await rowsOf(first), await rowsOf(active), drops.dropped["processes"]], [0, 4, 1]);
    const { execs } = (await scene.call("GET", `/api/workspaces/${id}/execs`)).body;
    assert.equal(execs.length, 1);
    await query(sql`UPDATE processes SET status = 'exited', finished_at = now() WHERE id = ${active}`);
  });

  test("of a live run stay, as its replay reads them", async () => {
    const { uuid } = await create();
    const run = await scene.start("plain");
    const process = await ended(uuid, decodeId("run", run.id));
    await dropIn(400, { processesMs: 90 * DAY_MS });
    assert.equal(await rowsOf(process), 4);
    await scene.cancelAll();
    await dropIn(400, { processesMs: 90 * DAY_MS });
    assert.equal(await rowsOf(process), 0);
  });
});

describe("ended materializations", () => {
  test("go 90 days after their end, but for the newest of a workspace, and what a worker may come back with", async () => {
    const { id, uuid } = await create();
    const old = await stopped(uuid);
    const discarded = await stopped(uuid, "kept = true, discarded_at = now()");
    const lost = await stopped(uuid, "status = 'failed', lost_version_id = base_version_id");
    const live = await stopped(
      uuid,
      "status = 'live', finished_at = NULL, active_at = now() + interval '9 days', lease_expires_at = now() + interval '9 days'",
    );
    const newest = await stopped((await create()).uuid);
    await dropIn(89, { processesMs: 90 * DAY_MS });
    await dropIn(400);
    assert.equal(await has("materializations", old), true);
    await dropIn(91, { processesMs: 90 * DAY_MS });
    assert.equal(drops.dropped["materializations"], 1);
    assert.equal(await has("materializations", old), false);
    for (const kept of [discarded, lost, live, newest])
      assert.equal(await has("materializations", kept), true);
    const shown = (await scene.call("GET", `/api/workspaces/${id}`)).body;
    assert.equal(shown.materialization.status, "live");
    await query(sql`UPDATE materializations SET status = 'stopped', finished_at = now() WHERE id = ${live}`);
  });
});

describe("a deleted workspace", () => {
  const isThere = async ({ id }: { id: string }): Promise<boolean> =>
    (await scene.call("GET", `/api/workspaces/${id}`)).status === 200;

  test("is shown for 30 days, then it is gone with its tags and materializations", async () => {
    const [one, active] = [await deleted(), await create()];
    await dropIn(29);
    assert.equal(await isThere(one), true);
    await dropIn(31);
    assert.deepEqual(
      [await isThere(one), await isThere(active), drops.dropped["deleted_workspaces"]],
      [false, true, 1],
    );
    const [left] = await query(sql`
      SELECT (SELECT count(*) FROM workspaces WHERE id = ${one.uuid}) + (SELECT count(*) FROM workspace_tags WHERE workspace_id = ${one.uuid})
        + (SELECT count(*) FROM materializations WHERE workspace_id = ${one.uuid}) AS count`);
    assert.equal(left.count, 0);
    assert.equal((await scene.call("DELETE", `/api/workspaces/${one.id}`)).status, 404);
    await checkInvariants(scene.server.db, "after the row of a workspace went");
  });

  test("of a server of the release before goes as well", async () => {
    const one = await deleted();
    await query(sql`UPDATE workspaces SET deleted_at = NULL WHERE id = ${one.uuid}`);
    await dropIn(29);
    assert.equal(await isThere(one), true);
    await dropIn(31);
    assert.equal(await isThere(one), false);
  });

  test("stays while a live run or an open session names it", async () => {
    const [ofRun, ofSession] = [await create(), await create()];
    await scene.start("plain", { workspace_id: ofRun.id, delay: "1h" });
    const session = await startSession(scene, { workspace_id: ofSession.id });
    const { runs } = (await scene.call("GET", `/api/sessions/${session.id}/runs`)).body;
    await scene.call("POST", `/v1/runs/${runs[0].id}/cancel`);
    for (const { id } of [ofRun, ofSession]) await scene.call("DELETE", `/api/workspaces/${id}`);
    await dropIn(31);
    assert.deepEqual([await isThere(ofRun), await isThere(ofSession)], [true, true]);
    await scene.call("POST", `/api/sessions/${session.id}/cancel`);
    await scene.cancelAll();
    await dropIn(31);
    assert.deepEqual([await isThere(ofRun), await isThere(ofSession)], [false, false]);
  });

  test("is dropped once by two servers", async () => {
    for (let n = 0; n < 5; n += 1) await deleted();
    await Promise.all([dropIn(31), dropIn(31)]);
    await dropIn(31);
    assert.equal(drops.dropped["deleted_workspaces"], 5);
  });

  test("is found without a look at those that are active, or were deleted lately", async () => {
    const one = await deleted();
    await query(sql`
      INSERT INTO workspaces
      SELECT (jsonb_populate_record(w, jsonb_build_object('id', gen_random_uuid(), 'status', CASE WHEN n % 2 = 0 THEN 'active' ELSE 'deleted' END,
        'deleted_at', CASE WHEN n % 2 = 0 THEN NULL ELSE now() + interval '10 days' END))).*
      FROM workspaces w, generate_series(1, 20000) n WHERE w.id = ${one.uuid}`);
    await query(sql`ANALYZE workspaces`);
    const now = scene.clock.now() + 31 * DAY_MS;
    const [recorded] = await recordOwnQueries(async () => {
      await scene.server.db.transaction(async (tx) => {
        const ids = await lockDeletedWorkspaces(tx, environmentId(), {
          deletedBefore: now - 30 * DAY_MS,
          now,
          limit: 500,
        });
        assert.deepEqual(ids, [one.uuid]);
      });
    }).then((all) => all.filter(({ text }) => text.includes("workspaces")));
    assert.ok(recorded !== undefined);
    const plan = await readPlan(scene.server.db, recorded);
    assert.ok(plan.read < 50, plan.scans.join("\n"));
    await query(
      sql`DELETE FROM workspaces WHERE id <> ${one.uuid} AND current_version_id = (SELECT current_version_id FROM workspaces WHERE id = ${one.uuid})`,
    );
  });
});
