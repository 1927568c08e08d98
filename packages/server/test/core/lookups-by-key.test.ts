// What is looked up by its key is found by it, also by a plan that was made when the table was nearly empty. Then a scan of all of
// it is the cheapest way, and a plan stays until PostgreSQL looks at the table again.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, beforeEach, describe, test } from "node:test";
import { decodeId, type IdPrefix, type Uuid } from "@keelson/contract";
import { listRunsOf } from "../../src/core/runs/run-list-reads.ts";
import { listTexts } from "../../src/core/runs/run-text-reads.ts";
import { markCompleted, type Completion } from "../../src/core/tokens/token-writes.ts";
import { listChildWaits, listTokenWaits } from "../../src/core/waits/wait-reads.ts";
import { lockTokenStatuses } from "../../src/core/waits/wait-source-reads.ts";
import { rawSql } from "../../src/db/sql.ts";
import { readPlan } from "../support/read-plan.ts";
import { recordOwnQueries, type RecordedQuery } from "../support/record-queries.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";

const ROWS = 3_000;
/** What is asked for, and the most that is read for each: of a run its row, its live row, its result and its continuation. */
const KEYS = 50;
const MOST = 4;

const TABLES = ["runs", "run_results", "run_waits", "tokens"];
const DIGEST = createHash("sha256").update("1").digest();

const idOf = <Kind extends IdPrefix>(n: number): Uuid<Kind> => n.toString(16).padStart(32, "0") as Uuid<Kind>;
const keys = Array.from({ length: KEYS }, (_, n) => n * 50 + 10);

describe("rows of tables that were nearly empty", () => {
  let scene: RunScene;
  let environmentId: Uuid<"env">;
  /** In a statement. */
  let own: string;
  let project: string;

  before(async () => {
    scene = await startRunScene({ tasks: [{ id: "plain" }] });
    const { environment_id, project_id } = scene.server.credentials;
    environmentId = decodeId("env", environment_id) as Uuid<"env">;
    own = `'${environmentId}'::uuid`;
    project = `'${decodeId("proj", project_id)}'::uuid`;
    for (const table of TABLES)
      await scene.server.db.query(rawSql(`ALTER TABLE ${table} SET (autovacuum_enabled = off)`));
  });
  after(() => scene?.stop());
  beforeEach(async () => {
    const { db } = scene.server;
    await db.query(rawSql(`TRUNCATE ${TABLES.join(", ")} CASCADE`));
    await addPast();
    await add(1, 2);
    for (const table of TABLES) await db.query(rawSql(`ANALYZE ${table}`));
  });

  /** Tokens that are completed, and what was waited for: of what is pending there is little, in a table that is not small. */
  async function addPast(): Promise<void> {
    const id = "lpad(to_hex(5000000 + n), 32, '0')::uuid";
    const series = `generate_series(1, ${ROWS}) AS n`;
    await scene.server.db.query(
      rawSql(`
      INSERT INTO tokens (environment_id, id, project_id, status, timeout_at, public_digest, callback_digest, data, data_digest,
        completed_at, created_at, updated_at)
      SELECT ${own}, ${id}, ${project}, 'completed', now(), sha256(int8send(n + 5000000)), sha256(int8send(-n - 5000000)),
        '1', sha256('1'), now(), now(), now() FROM ${series}`),
    );
    await scene.server.db.query(
      rawSql(`
      INSERT INTO run_waits (environment_id, run_id, position, id, name, kind, status, child_run_id, token_id, accepted, created_at, settled_at)
      SELECT ${own}, ${id}, 1, ${id}, 'wait', CASE WHEN n % 2 = 0 THEN 'run' ELSE 'token' END, 'resolved',
        CASE WHEN n % 2 = 0 THEN ${id} END, CASE WHEN n % 2 = 1 THEN ${id} END, true, now(), now() FROM ${series}`),
    );
  }

  /** Ended runs, for each a pending token, and for each of both somebody who waits for it. */
  async function add(from: number, to: number): Promise<void> {
    const series = `generate_series(${from}, ${to}) AS n`;
    const id = (plus: number): string => `lpad(to_hex(n + ${plus}), 32, '0')::uuid`;
    await scene.server.db.transaction(async (tx) => {
      await tx.query(rawSql("SET LOCAL session_replication_role = replica"));
      await tx.query(
        rawSql(`
        INSERT INTO runs (environment_id, id, project_id, entrypoint_kind, entrypoint, deployment_id, deployment_version, queue,
          priority, retry, created_at)
        SELECT ${own}, ${id(0)}, ${project}, 'task', 'plain', ${id(0)}, 'v1', 'default', 0, '{}', now() FROM ${series}`),
      );
      await tx.query(
        rawSql(`
        INSERT INTO run_results (environment_id, run_id, status, attempt_number, finished_at, epoch, applied_sequence,
          log_sequence, stdout_bytes, stderr_bytes, event_sequence)
        SELECT ${own}, ${id(0)}, 'succeeded', 1, now(), 1, 1, 0, 0, 0, 3 FROM ${series}`),
      );
      await tx.query(
        rawSql(`
        INSERT INTO tokens (environment_id, id, project_id, status, timeout_at, public_digest, callback_digest, created_at, updated_at)
        SELECT ${own}, ${id(0)}, ${project}, 'pending', now() + interval '1 day', sha256(int8send(n)), sha256(int8send(-n)), now(), now()
        FROM ${series}`),
      );
      for (const [kind, column, plus] of [
        ["run", "child_run_id", 1_000_000],
        ["token", "token_id", 2_000_000],
      ] as const)
        await tx.query(
          rawSql(`
          INSERT INTO run_waits (environment_id, run_id, position, id, name, kind, status, ${column}, created_at)
          SELECT ${own}, ${id(plus)}, 1, ${id(plus)}, 'wait', '${kind}', 'pending', ${id(0)}, now() FROM ${series}`),
        );
    });
  }

  const completion = (n: number): Completion => ({
    ...{ environmentId, tokenId: idOf(n), data: { text: "1", digest: DIGEST } },
    by: { kind: "api_key", id: idOf(n) },
  });
  const runIds = keys.map((n) => idOf<"run">(n));
  const ofRun = (runId: Uuid<"run">) => ({ environmentId, runId });
  const WAYS: Record<string, () => Promise<{ length: number }>> = {
    "waits for runs": () => listChildWaits(scene.server.db, runIds.map(ofRun)),
    "waits for tokens": () =>
      listTokenWaits(
        scene.server.db,
        keys.map((n) => ({ environmentId, id: idOf<"tok">(n) })),
      ),
    "tokens to complete": () =>
      scene.server.db.transaction((tx) => markCompleted(tx, keys.map(completion), Date.now())),
    "tokens to wait for": () =>
      scene.server.db.transaction((tx) =>
        lockTokenStatuses(
          tx,
          keys.map((n) => ({ environmentId, tokenId: idOf<"tok">(n) })),
        ),
      ),
    "texts of runs": () => listTexts(scene.server.db, environmentId, runIds),
    "runs of a list": () => listRunsOf(scene.server.db, environmentId, runIds),
  };

  for (const [name, look] of Object.entries(WAYS))
    test(name, async () => {
      const queries = await recordOwnQueries(async () => void (await look()));
      const looks = queries.filter(({ text }) => /\bunnest\(|= ANY\(/.test(text));
      assert.equal(looks.length, 1);
      const { read, scans } = await readPlan(scene.server.db, looks[0] as RecordedQuery, () => add(3, ROWS));
      assert.ok(read <= KEYS * MOST, `${read} rows: ${scans.join("; ")}`);
      assert.equal((await look()).length, KEYS);
    });
});
