// Workspaces that were made for a run are deleted when nobody has used them for long, and nothing needs them.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { decodeId, type Uuid } from "@keelson/contract";
import { loadConfig } from "../../src/config.ts";
import { rawSql, sql } from "../../src/db/sql.ts";
import { checkInvariants } from "../crash/support/invariants.ts";
import { readPlan } from "../support/read-plan.ts";
import { recordOwnQueries } from "../support/record-queries.ts";
import { DAY_MS, startRunWorkspaceScene, type RunWorkspaceScene } from "../support/run-workspace-scene.ts";
import { cancelSessions, startSession } from "../support/session-scene.ts";
import { until } from "../support/until.ts";

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

let scene: RunWorkspaceScene;
before(async () => {
  scene = await startRunWorkspaceScene();
});
after(() => scene.scene.stop());
afterEach(async () => {
  await scene.scene.cancelAll();
  await scene.worker.runs.releaseAll();
});

const query = (statement: ReturnType<typeof sql>): Promise<Json[]> => scene.scene.server.db.query(statement);
const call = (method: string, path: string, body?: object): Promise<Json> =>
  scene.scene.call(method, path, body === undefined ? {} : { body });
const environmentId = (): string => decodeId("env", scene.scene.server.credentials.environment_id) ?? "";

describe("a workspace that was made for a run", () => {
  test("is deleted 30 days after its last use, as by a call, and its files go", async () => {
    const { id, uuid } = await scene.finished();
    await scene.calls.write(id, "notes", "kept so long");
    assert.equal(await scene.dropIn(29), 0);
    assert.equal(await scene.dropIn(400, { keptMs: null }), 0);
    assert.equal(await scene.statusOf(id), "active");
    assert.equal(await scene.dropIn(31), 1);
    assert.equal(await scene.statusOf(id), "deleted");
    assert.equal(await scene.calls.read(id, "notes"), "404 not_found");
    const [left] = await query(sql`
      SELECT (SELECT count(*) FROM workspace_versions WHERE workspace_id = ${uuid}) AS versions,
        (SELECT count(*) FROM workspace_blobs WHERE workspace_id = ${uuid}) AS blobs,
        (SELECT count(*) FROM processes WHERE workspace_id = ${uuid}) AS processes,
        (SELECT deleted_at IS NOT NULL FROM workspaces WHERE id = ${uuid}) AS "isDated"`);
    assert.deepEqual({ ...left }, { versions: 0, blobs: 0, processes: 0, isDated: true });
    assert.equal(await scene.dropIn(31), 0);
    await checkInvariants(scene.scene.server.db, "after a workspace went");
  });

  test("stays for as long as its actor's session is open", async () => {
    const { body: started } = await call("POST", "/v1/actors/chat/start", {});
    const { lease } = await scene.worker.begin();
    await scene.worker.runs.report(lease.operation("release", { outcome: "succeeded" }));
    await query(sql`
      UPDATE materializations SET status = 'stopped', finished_at = now()
      WHERE workspace_id = ${decodeId("ws", started.session.workspace_id)}`);
    assert.equal(await scene.dropIn(31), 0);
    await call("POST", `/api/sessions/${started.session.id}/close`);
    assert.equal(await scene.dropIn(31), 1);
  });

  test("is theirs who changes it, or names it in a start: then it stays", async () => {
    const kept: string[] = [];
    for (const use of [
      (id: string) => call("PATCH", `/api/workspaces/${id}`, { tags: ["mine"] }),
      (id: string) => call("PATCH", `/api/workspaces/${id}`, { metadata: { is: "mine" } }),
      (id: string) => call("POST", "/v1/tasks/plain/start", { workspace_id: id }),
      (id: string) => call("POST", "/v1/actors/chat/start", { workspace_id: id }),
      (id: string) => call("POST", "/api/sessions", { task: "plain", workspace_id: id }),
      (id: string) =>
        call("POST", "/v1/tasks/start-batch", { starts: [{ task: "plain", workspace_id: id }] }),
    ]) {
      const { id } = await scene.finished();
      const answer = await use(id);
      assert.ok(answer.status < 300, answer.text);
      await cancelSessions(scene.scene);
      kept.push(id);
    }
    const { id: made } = await scene.calls.create();
    assert.equal(await scene.dropIn(400), 0);
    for (const id of [...kept, made]) assert.equal(await scene.statusOf(id), "active");
  });

  test("is used by a child run and by a replay that name it: it goes so long after that", async () => {
    const { run, id, uuid } = await scene.finished();
    const long = async (): Promise<void> => {
      await query(sql`UPDATE run_results SET finished_at = now() - interval '90 days'`);
      await query(
        sql`UPDATE workspaces SET last_activity_at = now() - interval '90 days' WHERE id = ${uuid}`,
      );
    };
    await long();
    // As of a second after the workspace was made, and before it is used.
    scene.scene.clock.advance(2_000);
    const drop = (): Promise<number> => scene.dropIn(30, { keptMs: 30 * DAY_MS + 1_000 });
    await scene.scene.start("plain");
    const parent = await scene.scene.worker.takeOne();
    const child = { position: 1, task: "plain", workspace_id: id };
    const [, started] = await scene.scene.worker.results(
      parent.operation("start"),
      parent.operation("child-runs", child),
    );
    assert.equal((await scene.scene.get(started.result.value.id)).workspace_id, id);
    await scene.scene.cancelAll();
    assert.equal(await drop(), 0);
    await long();
    const replay = await call("POST", "/v1/runs/bulk-actions", { action: "replay", run_ids: [run.id] });
    assert.equal(replay.status, 202, replay.text);
    await until("it was replayed", 30_000, async () => {
      const { body } = await call("GET", `/v1/runs/bulk-actions/${replay.body.id}`);
      return body.status === "completed";
    });
    await scene.scene.cancelAll();
    assert.equal(await drop(), 0);
    await long();
    assert.equal(await drop(), 1);
  });
});

/** Of the workspace of a finished run: something needs it, and then does not. */
const NEEDS: Record<string, [(ws: Uuid<"ws">) => Promise<unknown>, (ws: Uuid<"ws">) => Promise<unknown>]> = {
  "it was used later": [
    (ws) =>
      query(
        sql`UPDATE workspaces SET last_activity_at = last_activity_at + interval '2 days' WHERE id = ${ws}`,
      ),
    (ws) =>
      query(
        sql`UPDATE workspaces SET last_activity_at = last_activity_at - interval '2 days' WHERE id = ${ws}`,
      ),
  ],
  "its run ended later": [
    (ws) =>
      query(sql`UPDATE run_results SET finished_at = finished_at + interval '2 days'
        WHERE run_id = (SELECT made_for_run_id FROM workspaces WHERE id = ${ws})`),
    (ws) =>
      query(
        sql`DELETE FROM run_results WHERE run_id = (SELECT made_for_run_id FROM workspaces WHERE id = ${ws})`,
      ),
  ],
  "a run that waits has it": [
    async (ws) => {
      const run = await scene.scene.start("plain", { delay: "1h" });
      await query(sql`UPDATE executions SET workspace_id = ${ws} WHERE run_id = ${decodeId("run", run.id)}`);
    },
    () => scene.scene.cancelAll(),
  ],
  "an open session has it, and then one that was closed lately": [
    async (ws) => {
      const session = await startSession(scene.scene);
      await query(sql`UPDATE sessions SET workspace_id = ${ws} WHERE id = ${decodeId("sess", session.id)}`);
      await scene.scene.cancelAll();
      await query(sql`UPDATE executions SET workspace_id = NULL WHERE workspace_id = ${ws}`);
      assert.equal(await scene.dropIn(31), 0);
      await call("POST", `/api/sessions/${session.id}/cancel`);
      await query(
        sql`UPDATE sessions SET closed_at = closed_at + interval '2 days' WHERE workspace_id = ${ws}`,
      );
    },
    (ws) =>
      query(sql`UPDATE sessions SET closed_at = closed_at - interval '2 days' WHERE workspace_id = ${ws}`),
  ],
  "a command is to run in it": [
    (ws) =>
      query(sql`INSERT INTO processes (environment_id, id, workspace_id, kind, status, cwd, env_names, created_at, updated_at)
        VALUES (${environmentId()}, gen_random_uuid(), ${ws}, 'exec', 'pending', '', '{}', now(), now())`),
    (ws) =>
      query(sql`UPDATE processes SET status = 'exited', finished_at = now() WHERE workspace_id = ${ws}`),
  ],
  "the setup of its sandbox was made in it": [
    (ws) =>
      query(sql`INSERT INTO sandbox_bases (environment_id, setup_digest, version_id, created_at)
        SELECT environment_id, '\\x02', current_version_id, now() FROM workspaces WHERE id = ${ws}`),
    () => query(sql`DELETE FROM sandbox_bases WHERE setup_digest = '\\x02'`),
  ],
  ...Object.fromEntries(
    ["requested", "preparing", "live", "stopping", "uncommitted"].map((status) => [
      `its machine's state is ${status}`,
      [
        (ws: string) =>
          query(sql`
            UPDATE materializations SET status = ${status}, finished_at = NULL, kept = ${status}::text = 'uncommitted', dirty = true,
              error = 'full', worker_id = gen_random_uuid(), active_at = now() + interval '9 days',
              lease_expires_at = now() + interval '9 days'
            WHERE workspace_id = ${ws}`),
        (ws: string) =>
          query(sql`
            UPDATE materializations SET status = 'stopped', finished_at = now(), kept = false WHERE workspace_id = ${ws}`),
      ],
    ]),
  ),
};

describe("a workspace that was made for a run stays while", () => {
  for (const [why, [need, free]] of Object.entries(NEEDS))
    test(why, async () => {
      const { id, uuid } = await scene.finished();
      await need(uuid);
      assert.equal(await scene.dropIn(31), 0);
      assert.equal(await scene.statusOf(id), "active");
      await free(uuid);
      assert.equal(await scene.dropIn(31), 1);
      assert.equal(await scene.statusOf(id), "deleted");
    });
});

test("one that cannot be deleted stops no other, and is shown", async () => {
  const made = [await scene.finished(), await scene.finished(), await scene.finished()];
  const bad = made[1]?.uuid;
  const name = `refuse_${bad?.replaceAll("-", "")}`;
  await query(
    rawSql(`
    CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN IF OLD.id = '${bad}' AND NEW.status = 'deleted' THEN RAISE 'this row is unprocessable'; END IF; RETURN NEW; END $$`),
  );
  await query(
    rawSql(`CREATE TRIGGER ${name} BEFORE UPDATE ON workspaces FOR EACH ROW EXECUTE FUNCTION ${name}()`),
  );
  assert.equal(await scene.dropIn(31), 2);
  const [failure] = await query(sql`SELECT loop, cause FROM loop_failures WHERE item_id = ${bad}`);
  assert.equal(failure.loop, "drop-run_workspaces");
  assert.match(failure.cause, /unprocessable/);
  assert.equal(await scene.dropIn(31), 0, "it is set aside");
  await query(rawSql(`DROP TRIGGER ${name} ON workspaces`));
  assert.equal(await scene.dropIn(33), 1);
});

test("two servers delete each once", async () => {
  for (let n = 0; n < 4; n += 1) await scene.finished();
  const counts = await Promise.all([scene.dropIn(31), scene.dropIn(31), scene.dropIn(31)]);
  // One that finds another at work leaves the rest to it.
  const rest = await scene.dropIn(31);
  assert.equal(
    counts.reduce((sum, count) => sum + count, rest),
    4,
  );
  const { length } = await query(sql`SELECT FROM loop_failures WHERE loop = 'drop-run_workspaces'`);
  assert.equal(length, 0);
});

test("they are found without a look at other workspaces, and what needs one by its key", async () => {
  const { uuid } = await scene.finished();
  // Small tables are read whole, whatever their indexes are: each has many rows, of other workspaces.
  await query(sql`
    INSERT INTO workspaces
    SELECT (jsonb_populate_record(w, jsonb_build_object('id', gen_random_uuid(), 'made_for_run_id', NULL))).*
    FROM workspaces w, generate_series(1, 2000) WHERE w.id = ${uuid}`);
  await query(sql`
    INSERT INTO sessions
    SELECT (jsonb_populate_record(s, jsonb_build_object('id', gen_random_uuid(), 'workspace_id', gen_random_uuid()))).*
    FROM sessions s, generate_series(1, 2000) WHERE s.id = (SELECT id FROM sessions WHERE status <> 'open' LIMIT 1)`);
  await query(sql`
    INSERT INTO run_results
    SELECT (jsonb_populate_record(x, jsonb_build_object('run_id', gen_random_uuid()))).*
    FROM run_results x, generate_series(1, 1000)
    WHERE x.run_id = (SELECT made_for_run_id FROM workspaces WHERE id = ${uuid})`);
  await query(sql`
    INSERT INTO materializations
    SELECT (jsonb_populate_record(m, jsonb_build_object('id', gen_random_uuid(), 'workspace_id', w.id))).*
    FROM materializations m, (SELECT id FROM workspaces WHERE made_for_run_id IS NULL LIMIT 1000) w
    WHERE m.workspace_id = ${uuid}`);
  await query(sql`ANALYZE workspaces, sessions, run_results, materializations`);
  const all = await recordOwnQueries(async () => assert.equal(await scene.dropIn(31), 1));
  const looks = all.filter(
    ({ text }) => /SELECT.+FROM workspaces/s.test(text) && text.includes("last_activity_at <"),
  );
  // Each is asked again: by then another one is due.
  await scene.finished();
  assert.ok(looks.length >= 2);
  for (const look of looks) {
    const plan = await readPlan(scene.scene.server.db, look);
    assert.ok(plan.read < 50, plan.scans.join("\n"));
  }
});

test("how long is a duration or never, and 30 days by default", () => {
  assert.equal(loadConfig({}).retention.runWorkspacesMs, 30 * DAY_MS);
  assert.equal(loadConfig({ KEELSON_KEEP_RUN_WORKSPACES: "never" }).retention.runWorkspacesMs, null);
  assert.equal(loadConfig({}).retention.processesMs, 90 * DAY_MS);
  assert.throws(() => loadConfig({ KEELSON_KEEP_RUN_WORKSPACES: "5m" }), /1h to 3650d, or never/);
});
