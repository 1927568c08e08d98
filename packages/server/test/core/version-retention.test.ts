import assert from "node:assert/strict";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { decodeId, type Uuid } from "@keelson/contract";
import { createDiskBlobs } from "../../src/adapters/disk-blobs.ts";
import { loadConfig } from "../../src/config.ts";
import { BLOB_GRACE_MS, collectBlobs } from "../../src/core/blobs/collect-blobs.ts";
import { dropVersionsByAge, type VersionRetentionContext } from "../../src/core/retention/drop-versions.ts";
import { createTreeCache } from "../../src/core/versions/tree-cache.ts";
import { createDeploymentCache } from "../../src/core/entrypoints/deployment-cache.ts";
import { createWorkspace, resolveOrigin } from "../../src/core/workspaces/create-workspace.ts";
import { until } from "../support/until.ts";
import { createUuidGenerator } from "../../src/uuid.ts";
import { sql } from "../../src/db/sql.ts";
import { startApiServer, type ApiServer } from "../support/api-server.ts";
import { createTestClock } from "../support/test-clock.ts";
import { workspaceCalls, type WorkspaceCalls } from "../support/workspaces.ts";

const DAY_MS = 86_400_000;
const NEWEST = 3;

describe("old versions of workspaces", () => {
  const clock = createTestClock();
  let server: ApiServer;
  let calls: WorkspaceCalls;
  let context: VersionRetentionContext;
  let dropped = 0;
  before(async () => {
    server = await startApiServer();
    calls = workspaceCalls(server);
    const blobs = blobsOf(server, clock.now);
    clock.advance(31 * DAY_MS);
    context = {
      ...blobs,
      trees: createTreeCache(blobs),
      retention: { ...loadConfig({}).retention, versionCount: NEWEST },
      countDropped: (_kind, count) => void (dropped += count),
      noteLoopFailure: () => undefined,
    };
  });
  after(() => server.stop());

  /** Numbers of the versions that are shown, newest first, a few a page. */
  const numbers = async (workspace: string): Promise<number[]> => {
    const found: number[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const page: string = cursor === "" ? "" : `&cursor=${cursor}`;
      const { status, body } = await server.call(
        "GET",
        `/api/workspaces/${workspace}/versions?limit=2${page}`,
      );
      assert.equal(status, 200, JSON.stringify(body));
      found.push(...body.versions.map(({ number }: { number: number }) => number));
      cursor = body.next_cursor;
    }
    return found;
  };
  /** Version n + 1 has the file `n` and, of the others, `shared`. @returns their ids by number. */
  const fill = async (id: string, count: number): Promise<string[]> => {
    const versions = ["", ""];
    for (let n = 1; n <= count; n += 1) {
      if (n > 1) await server.call("DELETE", `/api/workspaces/${id}/files/content?path=f${n - 1}`);
      versions.push((await calls.write(id, `f${n}`, `content ${n}`)).version_id);
    }
    return versions;
  };

  test("go with what only they need; the newest, forks' and sandboxes' stay, and so does all that is young", async () => {
    const { id } = await calls.create();
    await calls.write(id, "shared", "shared");
    const first = await fill(id, 6);
    const all = await numbers(id);
    const fork = await calls.create({ from_version_id: first[3] });
    const base = first[4] as string;
    await server.db.query(sql`
      INSERT INTO sandbox_bases (environment_id, setup_digest, version_id, created_at)
      SELECT environment_id, '\\x01', id, now() FROM workspace_versions WHERE id = ${decodeId("wsv", base)}`);
    await dropVersionsByAge({ ...context, clock: () => clock.now() - 2 * DAY_MS });
    await dropVersionsByAge({ ...context, retention: { ...context.retention, versionsMs: null } });
    assert.deepEqual([await numbers(id), dropped], [all, 0]);

    const kept = new Set([first[3], first[4]]);
    await dropVersionsByAge(context);
    const left = await numbers(id);
    const { body } = await server.call("GET", `/api/workspaces/${id}/versions?limit=200`);
    const ids = new Set(body.versions.map((version: { id: string }) => version.id));
    for (const version of kept) assert.ok(ids.has(version), "a fork or a sandbox refers to it");
    assert.deepEqual(left.slice(0, NEWEST), all.slice(0, NEWEST));
    assert.equal(left.length, NEWEST + kept.size);
    assert.equal(dropped, all.length - left.length);

    clock.advance(2 * BLOB_GRACE_MS);
    const { removed } = await collectBlobs({ ...context, ...blobsOf(server, clock.now) });
    assert.ok(removed > 0, "what only they needed goes");
    assert.equal(await calls.read(id, "shared"), "shared");
    assert.equal(await calls.read(id, "f6"), "content 6");
    for (const version of body.versions as { id: string }[])
      assert.equal(await calls.read(id, "shared", `&source=version&version_id=${version.id}`), "shared");
    assert.equal(await calls.read(fork.id, "shared"), "shared");
    const gone = await server.call("GET", `/api/workspaces/${id}/versions/${first[2]}`);
    assert.equal(gone.status, 404);
    await dropVersionsByAge(context);
    assert.deepEqual(await numbers(id), left, "nothing more");
  });

  test("a version that a fork is being made of waits for it, and stays", async () => {
    const { id } = await calls.create();
    const versions = await fill(id, 5);
    const before = await numbers(id);
    const environmentId = decodeId("env", server.credentials.environment_id) as Uuid<"env">;
    const [environment] = await server.db.query<{ projectId: Uuid<"proj"> }>(sql`
      SELECT project_id AS "projectId" FROM environments WHERE id = ${environmentId}`);
    const origins = {
      ...context,
      ...blobsOf(server, clock.now),
      deployments: createDeploymentCache(context),
    };
    const origin = await resolveOrigin(origins, environmentId, {
      sandbox: null,
      fromVersionId: versions[2] as string,
    });
    let dropping: Promise<void> = Promise.resolve();
    await server.db.transaction(async (tx) => {
      await createWorkspace(tx, createUuidGenerator(clock.now), {
        environmentId,
        projectId: environment?.projectId as Uuid<"proj">,
        origin,
        externalId: null,
        metadata: null,
        tags: null,
        now: clock.now(),
      });
      dropping = dropVersionsByAge(context);
      await until("the drop waits for the fork", 60_000, async () => {
        await tx.query(sql`SELECT pg_stat_clear_snapshot()`);
        const [row] = await tx.query<{ count: number }>(sql`
          SELECT count(*) AS count FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock'`);
        return row?.count === 1;
      });
    });
    await dropping;
    assert.deepEqual(await numbers(id), before);
    await dropVersionsByAge(context);
    assert.deepEqual(await numbers(id), [...before.slice(0, NEWEST), 2]);
  });
});

const blobsOf = (server: ApiServer, clock: () => number) => ({
  db: server.db,
  clock,
  workspaceBlobs: (id: string) => createDiskBlobs(path.join(server.dataDir, "workspaces", id)),
});
