// R13: one row that cannot be processed, among a thousand good ones of its kind, while the server's own loops run.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { dropEnded } from "../../src/core/retention/drop-ended.ts";
import { rawSql, sql } from "../../src/db/sql.ts";
import { asAdmin } from "../support/audit.ts";
import { passHeard } from "../support/outlast-leases.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { NEVER_DROPPED } from "../support/never-dropped.ts";
import { insertMessage } from "../support/message-row.ts";
import { emit, startSession } from "../support/session-scene.ts";
import { letPass, patience } from "../support/until.ts";
import { workspaceCalls } from "../support/workspaces.ts";

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const GOOD = 1_000;
const MINUTE_MS = 60_000;
/** Of the machine: looks are half a second apart, safeguards 30 s. */
const IN_TIME_MS = 20_000;

type Kind = {
  name: string;
  loop: string;
  /** Where a trigger refuses the bad row. */
  table: string;
  column: string;
  /** Makes one and its copies, which come due within a minute; one of them has the id `bad`. @returns the UUIDs. */
  make: (scene: RunScene, bad: string) => Promise<string[]>;
  /** Counts those of the ids that were not processed, as `count`. */
  left: string;
  /** For a loop with rounds that are minutes apart. */
  round?: (scene: RunScene) => Promise<void>;
  /** When each is a transaction of its own, and a round takes a hundred. */
  inTimeMs?: number;
};

const uuidOf = (kind: Parameters<typeof decodeId>[0], id: string): string => {
  const uuid = decodeId(kind, id);
  assert.ok(uuid !== null);
  return uuid;
};

/** An id that was made when another one was. */
const idLike = (id: string): string => id.slice(0, 24) + randomUUID().slice(24);

/** Copies a row of each table under new ids. Of a column in `fresh` each copy has a value of its own. */
async function copy(
  scene: RunScene,
  id: string,
  bad: string,
  tables: Record<string, { key: string; fresh?: string[] }>,
): Promise<string[]> {
  const ids = Array.from({ length: GOOD }, (_, index) => (index === GOOD / 2 ? bad : idLike(id)));
  for (const [table, { key, fresh = [] }] of Object.entries(tables)) {
    const changes = [`'${key}', i.id`, ...fresh.map((column) => `'${column}', gen_random_uuid()`)].join(", ");
    await scene.server.db.query(sql`
      INSERT INTO ${rawSql(table)}
      SELECT (jsonb_populate_record(t, jsonb_build_object(${rawSql(changes)}))).*
      FROM ${rawSql(table)} t, unnest(${ids}::uuid[]) AS i (id) WHERE t.${rawSql(key)} = ${id}`);
  }
  return [id, ...ids];
}

/** The worker is given whichever run is ready. */
async function leasedRun(scene: RunScene): Promise<string> {
  await scene.start("work");
  const lease = await scene.worker.takeOne();
  assert.deepEqual(await scene.worker.report(lease.operation("start")), [200]);
  return uuidOf("run", lease.runId);
}

async function endedRun(scene: RunScene): Promise<string> {
  await scene.start("work");
  const lease = await scene.worker.takeOne();
  await scene.worker.finish(lease);
  return uuidOf("run", lease.runId);
}

const RUN = { runs: { key: "id" }, executions: { key: "run_id" } };
const liveAs = (condition: string): string =>
  `SELECT count(*) FROM executions WHERE run_id = ANY($ids) AND ${condition}`;

const KINDS: Kind[] = [
  {
    name: "a schedule",
    loop: "fire-schedules",
    table: "schedules",
    column: "id",
    make: async (scene, bad) => {
      const body = { task: "work", cron: "0 0 1 1 *", deduplication_key: randomUUID() };
      const answer = await scene.call("POST", "/api/schedules", { body });
      assert.equal(answer.status, 201, answer.text);
      const id = uuidOf("sched", answer.body.id);
      await scene.server.db.query(sql`
        UPDATE schedules SET next_run_at = to_timestamp(${scene.clock.now() + MINUTE_MS / 2}::float8 / 1000) WHERE id = ${id}`);
      return copy(scene, id, bad, { schedules: { key: "id", fresh: ["deduplication_key"] } });
    },
    left: "SELECT count(*) FROM schedules WHERE id = ANY($ids) AND last_run_id IS NULL",
  },
  {
    name: "a delayed run",
    loop: "sweep-due",
    table: "executions",
    column: "run_id",
    make: async (scene, bad) =>
      copy(scene, uuidOf("run", (await scene.start("work", { delay: "30s" })).id), bad, RUN),
    left: liveAs("available_at IS NOT NULL"),
  },
  {
    name: "a run whose time to live is over",
    loop: "sweep-expired",
    table: "executions",
    column: "run_id",
    make: async (scene, bad) =>
      copy(scene, uuidOf("run", (await scene.start("work", { ttl: "30s" })).id), bad, RUN),
    left: liveAs("true"),
  },
  {
    name: "a lease that was not renewed",
    loop: "sweep-leases",
    table: "executions",
    column: "run_id",
    make: async (scene, bad) => copy(scene, await leasedRun(scene), bad, RUN),
    left: liveAs("worker_id IS NOT NULL"),
  },
  {
    name: "the end of a run that is awaited",
    loop: "settle-endings",
    table: "awaited_endings",
    column: "run_id",
    make: async (scene, bad) => {
      const id = await endedRun(scene);
      const ids = await copy(scene, id, bad, { runs: { key: "id" }, run_results: { key: "run_id" } });
      // At once, as the loop may tell of them at once.
      await scene.server.db.query(sql`
        INSERT INTO awaited_endings (environment_id, run_id)
        SELECT environment_id, id FROM runs WHERE id = ANY(${ids}::uuid[])`);
      return ids;
    },
    left: "SELECT count(*) FROM awaited_endings WHERE run_id = ANY($ids)",
  },
  {
    name: "a wait that is due",
    loop: "settle-due-waits",
    table: "run_waits",
    column: "run_id",
    make: async (scene, bad) => {
      const id = await leasedRun(scene);
      const dueAt = scene.clock.now() + MINUTE_MS / 2;
      await scene.server.db.query(sql`
        UPDATE executions SET lease_expires_at = lease_expires_at + interval '1 day', wait_count = 1 WHERE run_id = ${id}`);
      await scene.server.db.query(sql`
        INSERT INTO run_waits (environment_id, run_id, position, id, name, kind, status, timeout_at, created_at)
        SELECT environment_id, run_id, 1, gen_random_uuid(), 'sleep', 'timer', 'pending',
          to_timestamp(${dueAt}::float8 / 1000), now() FROM executions WHERE run_id = ${id}`);
      return copy(scene, id, bad, { ...RUN, run_waits: { key: "run_id", fresh: ["id"] } });
    },
    left: "SELECT count(*) FROM run_waits WHERE run_id = ANY($ids) AND status = 'pending'",
  },
  {
    name: "a token whose time is over",
    loop: "expire-tokens",
    table: "tokens",
    column: "id",
    make: async (scene, bad) => {
      const answer = await scene.call("POST", "/api/tokens", { body: { timeout: "30s" } });
      assert.equal(answer.status, 201, answer.text);
      const id = uuidOf("tok", answer.body.id);
      const { db } = scene.server;
      await db.query(sql`
        INSERT INTO tokens (environment_id, id, project_id, status, timeout_at, public_digest, callback_digest, created_at, updated_at)
        SELECT environment_id, gen_random_uuid(), project_id, status, timeout_at, uuid_send(gen_random_uuid()),
          uuid_send(gen_random_uuid()), created_at, updated_at
        FROM tokens, generate_series(1, ${GOOD}) WHERE id = ${id}`);
      await db.query(
        sql`UPDATE tokens SET id = ${bad} WHERE id = (SELECT max(id::text)::uuid FROM tokens WHERE id <> ${id})`,
      );
      const rows = await db.query<{ id: string }>(sql`SELECT id FROM tokens WHERE id <> ${id}`);
      return [id, ...rows.map((row) => row.id)];
    },
    left: "SELECT count(*) FROM tokens WHERE id = ANY($ids) AND status = 'pending'",
  },
  {
    name: "a session whose time is over",
    loop: "expire-sessions",
    table: "sessions",
    column: "id",
    make: async (scene, bad) => {
      const id = uuidOf("sess", (await startSession(scene)).id);
      await scene.server.db.query(sql`
        UPDATE sessions SET expires_at = to_timestamp(${scene.clock.now() + MINUTE_MS / 2}::float8 / 1000) WHERE id = ${id}`);
      return copy(scene, id, bad, { sessions: { key: "id" } });
    },
    left: "SELECT count(*) FROM sessions WHERE id = ANY($ids) AND status = 'open'",
  },
  {
    name: "a message whose code does not end it",
    loop: "end-interrupted",
    table: "messages",
    column: "id",
    make: async (scene, bad) => {
      const session = await startSession(scene, { input: "hi" });
      await emit(scene, session, "half");
      const id = uuidOf("msg", await insertMessage(scene.server, session.id));
      await scene.server.db.query(sql`
        UPDATE messages SET status = 'open', ended_at = NULL, last_sequence = NULL,
          interrupt_requested_at = to_timestamp(${scene.clock.now() + MINUTE_MS / 2}::float8 / 1000) WHERE id = ${id}`);
      return copy(scene, id, bad, { messages: { key: "id", fresh: ["run_id"] } });
    },
    inTimeMs: 90_000,
    left: "SELECT count(*) FROM messages WHERE id = ANY($ids) AND status = 'open'",
  },
  {
    name: "a materialization whose worker fell silent",
    loop: "sweep-materializations",
    table: "materializations",
    column: "id",
    make: async (scene, bad) => {
      const { id } = await workspaceCalls(scene.server).create();
      const uuid = uuidOf("ws", id);
      await scene.server.db.query(sql`
        INSERT INTO materializations (environment_id, id, workspace_id, worker_group_id, status, epoch, required_isolation,
          isolation, worker_id, lease_expires_at, base_version_id, active_at, started_at, created_at, updated_at)
        SELECT w.environment_id, gen_random_uuid(), w.id, v.worker_group_id, 'live', 1, 'process', 'process',
          gen_random_uuid(), to_timestamp(${scene.clock.now() + MINUTE_MS / 2}::float8 / 1000), w.current_version_id,
          to_timestamp(${scene.clock.now() + MINUTE_MS / 2}::float8 / 1000), now(), now(), now()
        FROM workspaces w JOIN environments v ON v.id = w.environment_id WHERE w.id = ${uuid}`);
      await copy(scene, uuid, randomUUID(), {
        workspaces: { key: "id" },
        materializations: { key: "workspace_id", fresh: ["id"] },
      });
      await scene.server.db.query(sql`
        UPDATE materializations SET id = ${bad} WHERE id = (SELECT max(id::text)::uuid FROM materializations)`);
      const rows = await scene.server.db.query<{ id: string }>(sql`SELECT id FROM materializations`);
      return rows.map((row) => row.id);
    },
    inTimeMs: 90_000,
    left: "SELECT count(*) FROM materializations WHERE id = ANY($ids) AND status = 'live'",
  },
  {
    name: "a run that was kept long enough",
    loop: "drop-runs",
    table: "run_results",
    column: "run_id",
    make: async (scene, bad) =>
      copy(scene, await endedRun(scene), bad, { runs: { key: "id" }, run_results: { key: "run_id" } }),
    left: "SELECT count(*) FROM run_results WHERE run_id = ANY($ids)",
    round: async (scene) => dropAll(scene, { runsMs: 0 }),
  },
  {
    name: "a session that was kept long enough",
    loop: "drop-sessions",
    table: "sessions",
    column: "id",
    make: async (scene, bad) => {
      const session = await startSession(scene);
      const id = uuidOf("sess", session.id);
      await scene.call("POST", `/api/sessions/${session.id}/cancel`);
      await scene.server.db.query(sql`
        UPDATE sessions SET records_dropped = true, current_run_id = gen_random_uuid() WHERE id = ${id}`);
      return copy(scene, id, bad, { sessions: { key: "id" } });
    },
    left: "SELECT count(*) FROM sessions WHERE id = ANY($ids)",
    round: async (scene) => dropAll(scene, { sessionsMs: 0 }),
  },
  {
    name: "a deployment that was kept long enough",
    loop: "drop-deployments",
    table: "deployments",
    column: "id",
    make: async (scene, bad) => {
      // Of the one that is current, a first one that is not.
      const [old] = await scene.server.db.query<{ id: string }>(sql`
        INSERT INTO deployments
        SELECT (jsonb_populate_record(d, jsonb_build_object('id', ${idLike(bad)}::uuid, 'version', gen_random_uuid(), 'status', 'failed',
          'promoted_at', NULL))).*
        FROM deployments d JOIN environments e ON e.current_deployment_id = d.id RETURNING id`);
      assert.ok(old !== undefined);
      return copy(scene, old.id, bad, { deployments: { key: "id", fresh: ["version"] } });
    },
    left: "SELECT count(*) FROM deployments WHERE id = ANY($ids)",
    round: async (scene) => dropAll(scene, { deploymentsMs: 0 }),
  },
];

/** The rounds of the retention are ten minutes apart: the test has them. */
const dropAll = (scene: RunScene, policy: object): Promise<void> =>
  dropEnded({
    db: scene.server.db,
    clock: () => scene.clock.now(),
    retention: { ...NEVER_DROPPED, ...policy },
    countDropped: () => undefined,
    noteSwept: () => undefined,
    noteLoopFailure: () => undefined,
  });

const pauseOf = (failure: Json): number => Date.parse(failure.retry_at) - Date.parse(failure.last_failed_at);

describe("one bad row among a thousand good ones", { timeout: 300_000 }, () => {
  let scene: RunScene;
  before(async () => {
    scene = await startRunScene({ tasks: [{ id: "work" }], actors: [{ id: "chat" }] });
    await scene.server.db.query(sql`
      CREATE FUNCTION refuse_row() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF to_jsonb(OLD) ->> TG_ARGV[0] = TG_ARGV[1] THEN RAISE 'this row is unprocessable'; END IF;
        IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
        RETURN NEW;
      END $$`);
  });
  after(() => scene.stop());

  const leftOf = async (kind: Kind, ids: readonly string[]): Promise<number> => {
    const list = `'{${ids.join(",")}}'::uuid[]`;
    const [row] = await scene.server.db.query<{ count: number }>(rawSql(kind.left.replace("$ids", list)));
    return row?.count ?? 0;
  };
  const failureOf = async (id: string): Promise<Json> => {
    const answer = await asAdmin(scene.server)("GET", "system");
    assert.equal(answer.status, 200, answer.text);
    return answer.body.loop_failures.find(({ item }: Json) => item === id);
  };
  const until = async (kind: Kind, what: () => Promise<boolean>): Promise<void> => {
    const deadline = performance.now() + patience(kind.inTimeMs ?? IN_TIME_MS);
    while (!(await what())) {
      assert.ok(performance.now() < deadline, `${kind.name}: not in time`);
      await kind.round?.(scene);
      // Whoever is to be there for a whole lease is heard however long this takes.
      await passHeard(scene, 0);
      await letPass(20, "loops have their rounds meanwhile");
    }
  };

  for (const kind of KINDS)
    test(`${kind.name} stops no other; it is shown, retried ever more seldom, and processed in the end`, async (t) => {
      const bad = idLike(uuidOf("env", scene.server.credentials.environment_id));
      await scene.server.db.query(
        rawSql(
          `CREATE TRIGGER refuse_row BEFORE UPDATE OR DELETE ON ${kind.table} FOR EACH ROW EXECUTE FUNCTION refuse_row('${kind.column}', '${bad}')`,
        ),
      );
      t.after(() => scene.server.db.query(rawSql(`DROP TRIGGER IF EXISTS refuse_row ON ${kind.table}`)));
      await scene.worker.renewToken();
      const ids = await kind.make(scene, bad);
      assert.equal(ids.length, GOOD + 1);
      const began = performance.now();
      await passHeard(scene, 2 * MINUTE_MS);
      await until(kind, async () => (await leftOf(kind, ids)) === 1);
      const tookMs = Math.round(performance.now() - began);
      assert.equal(await leftOf(kind, [bad]), 1);
      await until(kind, async () => (await failureOf(bad)) !== undefined);
      const pauses: number[] = [];
      for (let seen = 0; pauses.length < 4;) {
        await until(kind, async () => ((await failureOf(bad))?.failures ?? 0) > seen);
        const failure = await failureOf(bad);
        assert.equal(failure.loop, kind.loop);
        assert.match(failure.cause, /this row is unprocessable/);
        pauses.push(pauseOf(failure));
        // On a slow machine some of them are over before they are seen.
        seen = failure.failures;
        await passHeard(scene, pauseOf(failure));
      }
      assert.ok(
        pauses.every((ms, i) => i === 0 || ms > (pauses[i - 1] as number)),
        pauses.join(", "),
      );
      await scene.server.db.query(rawSql(`DROP TRIGGER refuse_row ON ${kind.table}`));
      let sat = 0;
      await until(kind, async () => {
        const failure = await failureOf(bad);
        if (failure === undefined) return (await leftOf(kind, ids)) === 0;
        // It may have failed once more just before, and rests for longer than ever.
        if (failure.failures > sat) await passHeard(scene, pauseOf(failure));
        sat = failure.failures;
        return false;
      });
      console.log(
        `${kind.loop}: ${GOOD} good rows in ${tookMs} ms beside the bad one, retried after ${pauses.join(", ")} ms`,
      );
    });
});
