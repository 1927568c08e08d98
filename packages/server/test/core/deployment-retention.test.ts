import assert from "node:assert/strict";
import path from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { decodeId, type Uuid } from "@keelson/contract";
import { createDiskBlobs } from "../../src/adapters/disk-blobs.ts";
import { loadConfig } from "../../src/config.ts";
import type { BlobStore } from "../../src/core/blobs/blob.ts";
import { preventRemovals } from "../../src/core/blobs/removal-lock-reads.ts";
import { lockBundle } from "../../src/core/bundles/bundle-writes.ts";
import { BUNDLE_GRACE_MS, collectBundles } from "../../src/core/bundles/collect-bundles.ts";
import { deleteDeployments, lockDeployments } from "../../src/core/retention/deployment-retention-writes.ts";
import { dropEnded } from "../../src/core/retention/drop-ended.ts";
import { sql } from "../../src/db/sql.ts";
import { until } from "../support/until.ts";
import { digestOf } from "../support/api-server.ts";
import { createBody } from "../support/deploy.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";

const DAY_MS = 86_400_000;
/** As long as the default keeps them, and a little. */
const LATER_MS = 91 * DAY_MS;
const TASKS = { tasks: [{ id: "work" }], actors: [{ id: "chat" }] };

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const text = (value: string): Uint8Array => new TextEncoder().encode(value);
const keyOf = (digest: string): Buffer => Buffer.from(digest, "hex");

describe("a deployment that was kept long enough", () => {
  let scene: RunScene;
  let blobs: BlobStore;
  let environmentId: Uuid<"env">;
  let made = 0;
  before(async () => {
    scene = await startRunScene(TASKS);
    blobs = createDiskBlobs(path.join(scene.server.dataDir, "blobs"));
    environmentId = decodeId("env", scene.server.credentials.environment_id) as Uuid<"env">;
  });
  after(() => scene.stop());
  beforeEach(() => scene.cancelAll());

  const at = (ms: number) => ({
    db: scene.server.db,
    clock: () => scene.clock.now() + ms,
    noteLoopFailure: () => undefined,
  });
  const drop = async (ms = LATER_MS): Promise<number> => {
    let dropped = 0;
    await dropEnded({
      ...at(ms),
      retention: {
        ...loadConfig({}).retention,
        runsMs: null,
        eventsMs: null,
        logsMs: null,
        recordsMs: null,
        sessionsMs: null,
      },
      countDropped: (kind, count) => void (dropped += kind === "deployments" ? count : 0),
      noteSwept: () => undefined,
    });
    return dropped;
  };
  /** Once what was dropped then may go. */
  const collect = (ms = LATER_MS + BUNDLE_GRACE_MS + 1): Promise<{ removed: number }> =>
    collectBundles({ ...at(ms), blobs });
  const upload = async (bytes: Uint8Array): Promise<string> => {
    const answer = await scene.call("PUT", `/v1/deployment-bundles/${digestOf(bytes)}`, { bytes });
    assert.equal(answer.status, 200, answer.text);
    return digestOf(bytes);
  };
  const create = (digest: string, format = 1) =>
    scene.call("POST", "/v1/deployments", {
      body: createBody(TASKS, { bundle_digest: digest, bundle_format_version: format }),
    });
  const settled = async (deployment: Json): Promise<Json> => {
    await scene.server.db.query(
      sql`UPDATE deployments SET status = 'ready' WHERE id = ${decodeId("dep", deployment.id)}`,
    );
    return deployment;
  };
  const deploy = async (): Promise<Json> => {
    made += 1;
    const answer = await create(await upload(text(`export const n = ${made};`)));
    assert.equal(answer.status, 201, answer.text);
    return settled(answer.body);
  };
  /** One of which enough newer ones are there. */
  const deployOld = async (): Promise<Json> => {
    const old = await deploy();
    for (let n = 0; n < 10; n += 1) await deploy();
    return old;
  };
  const status = async (path: string): Promise<number> => (await scene.call("GET", path)).status;
  const isThere = async ({ id }: Json): Promise<boolean> => (await status(`/v1/deployments/${id}`)) === 200;
  const archiveOf = (files: Record<string, Uint8Array>): Uint8Array =>
    text(
      JSON.stringify({
        format_version: 2,
        entry: "bundle.mjs",
        node_version: "24.21.0",
        platform: null,
        files: Object.entries(files).map(([name, bytes]) => ({
          path: name,
          digest: digestOf(bytes),
          size_bytes: bytes.length,
          executable: false,
        })),
      }),
    );

  test("goes with its events, then with its bundle; the current one and the newest ten stay", async () => {
    await drop();
    const current = (await scene.call("GET", "/v1/deployments")).body.deployments.find(
      (one: Json) => one.is_current,
    );
    const old = await deployOld();
    assert.equal(await drop(89 * DAY_MS), 0);
    assert.equal(await drop(), 1);
    assert.deepEqual([await isThere(old), await isThere(current)], [false, true]);
    const ready = (await scene.call("GET", "/v1/deployments?status=ready")).body.deployments;
    assert.equal(ready.length, 11);
    const promoted = await scene.call("POST", `/v1/deployments/${old.id}/promote`);
    assert.deepEqual([promoted.status, promoted.body.error.code], [404, "not_found"]);
    const started = await scene.call("POST", "/v1/tasks/work/start", {
      body: { deployment_version: old.version },
    });
    assert.equal(started.status, 404);
    assert.match(started.body.error.message, new RegExp(`no ready deployment with version ${old.version}`));
    const [left] = await scene.server.db.query<{ events: number }>(sql`
      SELECT count(*) AS events FROM deployment_events WHERE deployment_id = ${decodeId("dep", old.id)}`);
    assert.equal(left?.events, 0);
    assert.equal((await collect(LATER_MS)).removed, 0);
    assert.ok(await blobs.has(old.bundle.digest), "kept for the grace");
    assert.equal((await collect()).removed, 1);
    assert.equal(await blobs.has(old.bundle.digest), false);
    assert.equal(await blobs.has(current.bundle.digest), true);
  });

  test("is one that was not current for that long, and there is always one to roll back to", async () => {
    const old = await deploy();
    const older = await deploy();
    for (const one of [older, old]) {
      const promoted = await scene.call("POST", `/v1/deployments/${one.id}/promote`);
      assert.equal(promoted.status, 200, promoted.text);
      scene.clock.advance(1_000);
    }
    for (let n = 0; n < 11; n += 1) await deploy();
    const newest = await deploy();
    await scene.server.db.query(sql`UPDATE deployments SET updated_at = updated_at - interval '200 days'`);
    await scene.call("POST", `/v1/deployments/${newest.id}/promote`);
    const [row] = await scene.server.db.query<{ recent: boolean }>(sql`
      SELECT updated_at > now() - interval '1 day' AS recent FROM deployments WHERE id = ${decodeId("dep", old.id)}`);
    assert.equal(row?.recent, true, "counted from when another took its place");
    await drop();
    assert.deepEqual([await isThere(old), await isThere(older)], [true, false]);
  });

  test("stays while a run of it lives, and the run's version is still named when it has gone", async () => {
    const old = await deployOld();
    const run = await scene.start("work", { deployment_version: old.version });
    await drop();
    assert.equal(await isThere(old), true);
    const lease = await scene.worker.takeOne();
    await drop();
    assert.equal(await isThere(old), true);
    await scene.worker.finish(lease);
    await drop();
    assert.equal(await isThere(old), false);
    const kept = await scene.get(run.id);
    assert.deepEqual([kept.deployment_version, kept.status], [old.version, "succeeded"]);
    // As a replay starts it.
    assert.notEqual((await scene.start("work")).deployment_version, old.version);
  });

  test("stays while an open session is pinned to it", async () => {
    const old = await deployOld();
    const started = await scene.call("POST", "/api/actors/chat/start", {
      body: { deployment_version: old.version },
    });
    assert.equal(started.status, 201, started.text);
    await scene.cancelAll();
    await scene.server.db.query(sql`DELETE FROM executions`);
    await drop();
    assert.equal(await isThere(old), true);
    const { id } = started.body.session ?? started.body;
    assert.equal((await scene.call("POST", `/api/sessions/${id}/close`)).status, 200);
    await drop();
    assert.equal(await isThere(old), false);
  });

  test("goes though its schedules stay: they start what is current", async () => {
    const put = await scene.call("POST", "/api/schedules", {
      body: { deduplication_key: "kept", task: "work", cron: "0 0 1 1 *" },
    });
    assert.equal(put.status, 201, put.text);
    const old = await deployOld();
    await drop();
    assert.equal(await isThere(old), false);
    await scene.server.db.query(sql`
      UPDATE schedules SET next_run_at = to_timestamp(${scene.clock.now() / 1000 - 1}::float8)
      WHERE id = ${decodeId("sched", put.body.id)}`);
    let run: Json;
    await until("the schedule has started a run", 30_000, async () => {
      [run] = (await scene.call("GET", `/v1/runs?schedule_id=${put.body.id}`)).body.runs;
      return run !== undefined;
    });
    const { deployments } = (await scene.call("GET", "/v1/deployments")).body;
    const current = deployments.find((one: Json) => one.is_current);
    assert.equal(run.deployment_version, current.version);
    assert.equal((await scene.call("DELETE", `/api/schedules/${put.body.id}`)).status, 204);
  });

  test("is dropped once, by whichever server", async () => {
    await drop();
    await collect(LATER_MS + 3 * BUNDLE_GRACE_MS);
    await deployOld();
    const sum = (counts: number[]): number => counts.reduce((all, one) => all + one);
    // The ten that were the newest, and the old one; what all of them left to another is dropped by the next round.
    const counts = await Promise.all([drop(), drop(), drop()]);
    assert.equal(sum([...counts, await drop()]), 11);
    const rounds = await Promise.all([collect(), collect(), collect()]);
    assert.equal(sum(rounds.map(({ removed }) => removed)), 11);
  });

  test("that a start pins just then either stays for it, or refuses it", async () => {
    const { db } = scene.server;
    const pinned = await deployOld();
    const start = (key: string) =>
      scene.call("POST", "/v1/tasks/work/start", {
        body: { deployment_version: pinned.version, idempotency_key: key },
      });
    const waits = async (): Promise<void> => {
      for (;;) {
        const [row] = await db.query<{ count: number }>(
          sql`SELECT count(*) AS count FROM pg_locks WHERE NOT granted`,
        );
        if (row !== undefined && row.count > 0) return;
      }
    };
    // The start is under way: it waits, within its statement, for somebody with the same key.
    let first: Promise<Json> = Promise.resolve();
    await scene.start("work", { idempotency_key: "raced", idempotency_key_ttl: "1h" });
    await db.transaction(async (tx) => {
      const rows = await tx.query(sql`
        UPDATE idempotency_keys SET expires_at = now() - interval '1000 days' WHERE key = 'raced' RETURNING 1 AS locked`);
      assert.equal(rows.length, 1);
      first = start("raced");
      await waits();
      await drop();
    });
    assert.equal((await first).status, 201);
    await drop();
    assert.equal(await isThere(pinned), true);
    await scene.cancelAll();
    // The sweep is under way.
    let second: Promise<Json> = Promise.resolve();
    await db.transaction(async (tx) => {
      const locked = await lockDeployments(tx, environmentId, [decodeId("dep", pinned.id) as Uuid<"dep">]);
      const later = scene.clock.now() + LATER_MS;
      assert.equal(await deleteDeployments(tx, environmentId, locked, later, later), 1);
      second = start("second");
      await waits();
    });
    assert.deepEqual([(await second).status, (await second).body.error.code], [404, "not_found"]);
    const [orphans] = await db.query<{ count: number }>(sql`
      SELECT count(*) AS count FROM executions e JOIN runs r ON r.environment_id = e.environment_id AND r.id = e.run_id
      WHERE NOT EXISTS (SELECT 1 FROM deployments d WHERE d.environment_id = r.environment_id AND d.id = r.deployment_id)`);
    assert.equal(orphans?.count, 0);
  });

  test("leaves files that another archive has, and takes the others a day later", async () => {
    const shared = text("shared file");
    const own = text("file of the old one");
    const archives = [archiveOf({ "bundle.mjs": shared, own }), archiveOf({ "bundle.mjs": shared })] as const;
    for (const bytes of [shared, own, ...archives]) await upload(bytes);
    await settled((await create(digestOf(archives[0]), 2)).body);
    await deployOld();
    assert.equal((await create(digestOf(archives[1]), 2)).status, 201);
    await scene.server.db.query(sql`
      UPDATE deployments SET status = 'ready', promoted_at = now() + interval '1 day'
      WHERE bundle_digest = ${keyOf(digestOf(archives[1]))}`);
    await drop();
    await collect();
    assert.deepEqual(
      [await blobs.has(digestOf(archives[0])), await blobs.has(digestOf(own))],
      [false, true],
      "the index first",
    );
    await collect(LATER_MS + 3 * BUNDLE_GRACE_MS);
    assert.deepEqual([await blobs.has(digestOf(own)), await blobs.has(digestOf(shared))], [false, true]);
  });

  test("takes no file from a deployment that is made of what the server had: it is asked for again", async () => {
    const [kept, asked] = [text("had already"), text("asked for")];
    const index = archiveOf({ "bundle.mjs": kept, asked });
    for (const bytes of [kept, index]) await upload(bytes);
    const told = await create(digestOf(index), 2);
    assert.deepEqual(told.body.error.details.missing, [digestOf(asked)]);
    await collect();
    assert.equal(await blobs.has(digestOf(kept)), false);
    await upload(asked);
    await upload(index);
    const again = await create(digestOf(index), 2);
    assert.deepEqual([again.status, again.body.error.details.missing], [409, [digestOf(kept)]]);
    await upload(kept);
    assert.equal((await create(digestOf(index), 2)).status, 201);
    assert.equal((await collect()).removed, 0);
    for (const bytes of [kept, asked, index]) assert.ok(await blobs.has(digestOf(bytes)));
    await scene.server.db.query(sql`UPDATE deployments SET status = 'failed' WHERE status = 'pending'`);
  });

  test("leaves a bundle of which a deployment is being made, and bytes that are being uploaded", async () => {
    const { db } = scene.server;
    const digest = await upload(text("in hand"));
    await db.transaction(async (tx) => {
      assert.ok(await lockBundle(tx, environmentId, keyOf(digest)));
      assert.equal((await collect()).removed, 0);
    });
    assert.ok(await blobs.has(digest));
    const made = await scene.call(
      "POST",
      `/api/projects/${scene.server.credentials.project_id}/environments`,
      {
        as: scene.server.credentials.user_token,
        body: { name: "Other", slug: "other" },
      },
    );
    assert.equal(made.status, 201, made.text);
    // Announced a moment ago, the bytes are on their way.
    const later = (scene.clock.now() + LATER_MS + BUNDLE_GRACE_MS) / 1000;
    await db.query(sql`
      INSERT INTO bundle_candidates (environment_id, digest, touched_at)
      VALUES (${decodeId("env", made.body.id)}, ${keyOf(digest)}, to_timestamp(${later}::float8))`);
    assert.equal((await collect()).removed, 0);
    assert.ok(await blobs.has(digest));
    const [row] = await db.query<{ count: number }>(
      sql`SELECT count(*) AS count FROM bundles WHERE digest = ${keyOf(digest)}`,
    );
    assert.equal(row?.count, 0, "the environment itself has it no more");
    assert.equal((await collect(LATER_MS + 3 * BUNDLE_GRACE_MS)).removed, 1);
    assert.equal(await blobs.has(digest), false);
  });

  test("an upload of what is being removed waits until it is gone", async () => {
    const { db } = scene.server;
    const bytes = text("going");
    const key = keyOf(digestOf(bytes));
    await db.query(sql`
      INSERT INTO bundle_removals (digest, environment_id, begun_at)
      VALUES (${key}, ${environmentId}, to_timestamp(${scene.clock.now() / 1000}::float8))`);
    const again = upload(bytes);
    // The removal's process died, and another server takes it up.
    await collect(6 * 60_000);
    assert.equal(await again, digestOf(bytes));
    assert.ok(await blobs.has(digestOf(bytes)));
  });

  test("a removal that is slow is not taken over, and what is uploaded meanwhile stays", async () => {
    const bytes = text("slow to go");
    const digest = await upload(bytes);
    const [begun, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow = {
      ...blobs,
      remove: async (one: string): Promise<void> => {
        begun.resolve();
        await goesOn.promise;
        await blobs.remove(one);
      },
    };
    const removing = collectBundles({ ...at(LATER_MS + BUNDLE_GRACE_MS + 1), blobs: slow });
    await begun.promise;
    const again = upload(bytes);
    assert.equal((await collect(LATER_MS + 2 * BUNDLE_GRACE_MS)).removed, 0);
    goesOn.resolve();
    await removing;
    assert.equal(await again, digest);
    assert.ok(await blobs.has(digest));
  });

  test("nothing of a bundle is removed while a backup is being written", async () => {
    const digest = await upload(text("in a backup"));
    await scene.server.db.transaction(async (tx) => {
      await preventRemovals(tx);
      assert.equal((await collect()).removed, 0);
      await tx.query(sql`SELECT pg_advisory_unlock_all()`);
    });
    assert.ok(await blobs.has(digest));
    assert.ok((await collect()).removed > 0);
    assert.equal(await blobs.has(digest), false);
  });
});

test("how long deployments are kept is a duration or never", () => {
  assert.equal(loadConfig({}).retention.deploymentsMs, 90 * DAY_MS);
  assert.equal(loadConfig({ KEELSON_KEEP_DEPLOYMENTS: "never" }).retention.deploymentsMs, null);
});
