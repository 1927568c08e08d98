// A commit of a live workspace is one statement. It keeps what the transaction keeps that decides every other case.

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { decodeId, type Uuid } from "@keelson/contract";
import { createDatabase, type Database } from "../../../src/db/pool.ts";
import { sql } from "../../../src/db/sql.ts";
import { startApiServer, type Answer, type ApiServer } from "../../support/api-server.ts";
import { recordQueries } from "../../support/record-queries.ts";
import { until } from "../../support/until.ts";
import { startWorkspaceWorker, type WorkspaceWorker } from "../../support/workspace-worker.ts";
import { workspaceCalls } from "../../support/workspaces.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const COMMIT = /INSERT INTO workspace_versions/;

describe("a commit of a live workspace", () => {
  let server: ApiServer;
  let other: Database;
  let worker: WorkspaceWorker;
  let workspace: string;
  let leased: Json;
  let exec: string;
  before(async () => {
    server = await startApiServer();
    other = createDatabase({ url: server.db.directUrl, poolSize: 1, statementNames: true });
    worker = await startWorkspaceWorker(server);
  });
  after(async () => {
    await other.close();
    await server.stop();
  });
  beforeEach(async () => {
    ({ id: workspace } = await workspaceCalls(server).create());
    await server.call("POST", `/api/workspaces/${workspace}/materialize`, { body: {} });
    leased = await worker.take();
    assert.equal((await worker.live(leased)).status, 200);
    const created = await server.call("POST", at("/execs"), { body: { command: ["make"] } });
    exec = created.body.id;
    const fields = { ...worker.fields(leased), process_id: exec };
    assert.equal((await worker.call("/workspaces/processes/started", fields)).status, 200);
  });
  afterEach(async () => {
    await server.call("DELETE", `/api/workspaces/${workspace}`);
    await worker.stopped(leased);
  });

  const at = (rest: string): string => `/api/workspaces/${workspace}${rest}`;
  const exited = (exit_code: number): object => ({ process_id: exec, outcome: "exited", exit_code });
  const commit = (files: Record<string, string>, extra: object = {}): Promise<Answer> =>
    worker.commit(leased, leased.base.version_id, files, { cause: { kind: "exec", id: exec }, ...extra });
  const find = async (): Promise<Json> => (await server.call("GET", at(`/execs/${exec}`))).body;
  const versions = async (): Promise<Json[]> => (await server.call("GET", at("/versions"))).body.versions;
  const transactions = async (work: () => Promise<void>): Promise<string[]> => {
    const queries = await recordQueries(work);
    const own = queries.find(({ text }) => COMMIT.test(text));
    return queries.filter(({ connection }) => connection === own?.connection).map(({ text }) => text);
  };

  /** Holds the workspace's lock until the commit waits for it, and does `work` under it. */
  async function underLock(work: (tx: Database["query"]) => Promise<unknown>): Promise<Answer> {
    let waiting: Promise<Answer> | undefined;
    await other.transaction(async (tx) => {
      await tx.query(sql`SELECT FROM workspaces WHERE id = ${decodeId("ws", workspace)} FOR NO KEY UPDATE`);
      waiting = commit({ "a.txt": "new" }, { ended: [exited(0)] });
      await until("the commit waits for the lock", 5_000, async () => {
        const rows = await server.db.query(sql`
          SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`);
        return rows.length > 0;
      });
      await work(tx.query.bind(tx));
    });
    return waiting as Promise<Answer>;
  }

  test("makes the version and ends its processes in one statement, which wakes who waits for the end", async () => {
    const waiting = server.call("POST", `/v1/workspaces/${workspace}/exec`, { body: { command: ["wait"] } });
    // A poll may be answered before the command is there.
    let started: Json;
    while (started === undefined)
      started = (await worker.poll({ held: [], wait: "10s" })).processes.find(
        ({ process_id: id }: Json) => id !== exec,
      );
    const fields = { ...worker.fields(leased), process_id: started.process_id };
    await worker.call("/workspaces/processes/started", fields);
    const both = [exited(0), { process_id: started.process_id, outcome: "exited", exit_code: 3 }];
    const texts = await transactions(async () => {
      const { status, body } = await commit({ "a.txt": "a" }, { ended: both });
      assert.deepEqual([status, body.created, body.version.number], [200, true, 2]);
    });
    assert.deepEqual(
      texts.filter((text) => /^\s*(BEGIN|COMMIT)/.test(text)),
      [],
    );
    // Nobody has told the end otherwise.
    const { body } = await waiting;
    assert.deepEqual([body.status, body.exit_code], ["exited", 3]);
    const [newest] = await versions();
    const { status, version_id } = await find();
    assert.deepEqual([status, version_id], ["exited", newest.id]);
    assert.equal(
      await workspaceCalls(server).read(workspace, "a.txt", `&source=version&version_id=${newest.id}`),
      "a",
    );
  });

  test("is answered the same when it is repeated, and makes one version", async () => {
    const extra = { commit_id: "once", ended: [exited(0)] };
    const first = await commit({ "a.txt": "a" }, extra);
    const again = await commit({ "a.txt": "a" }, extra);
    assert.deepEqual([again.status, again.body], [200, first.body]);
    assert.equal((await versions()).length, 2);
  });

  test("does nothing under an epoch that is over, for what is not stored, and on another version", async () => {
    const ended = [exited(0)];
    const stale = await commit({ "a.txt": "a" }, { epoch: leased.epoch + 1, ended });
    const { manifest } = await worker.store(leased, { "b.txt": "b" });
    await other.query(sql`
      UPDATE blobs SET removing_since = now() WHERE digest = ${Buffer.from(manifest, "hex")}`);
    const missing = await worker.call("/workspaces/commit", {
      ...{ ...worker.fields(leased), commit_id: "missing", parent_version_id: leased.base.version_id },
      ...{ manifest_digest: manifest, cause: { kind: "exec", id: exec }, ended },
    });
    const another = leased.base.version_id.replace(/.$/, (last: string) => (last === "z" ? "y" : "z"));
    const elsewhere = await worker.commit(leased, another, { c: "c" });
    assert.deepEqual(
      [stale, missing, elsewhere].map(({ status, body }) => [status, body.error.code]),
      [
        [409, "lease_lost"],
        [409, "invalid_state"],
        [409, "invalid_state"],
      ],
    );
    assert.deepEqual([(await find()).status, (await versions()).length], ["running", 1]);
  });

  test("ends no process that has ended meanwhile, and still makes the version", async () => {
    const answer = await underLock((query) =>
      query(
        sql`UPDATE processes SET status = 'lost', finished_at = now() WHERE id = ${decodeId("exec", exec)}`,
      ),
    );
    assert.deepEqual([answer.status, answer.body.created], [200, true]);
    assert.deepEqual([(await find()).status, (await versions()).length], ["lost", 2]);
  });

  test("is refused when the workspace is taken from the worker while it waits", async () => {
    const { status, body } = await underLock((query) =>
      query(sql`
        UPDATE materializations SET epoch = epoch + 1 WHERE id = ${decodeId("mat", leased.materialization_id)}`),
    );
    assert.deepEqual([status, body.error.code], [409, "lease_lost"]);
    assert.deepEqual([(await find()).status, (await versions()).length], ["running", 1]);
    leased = { ...leased, epoch: leased.epoch + 1 };
  });

  test("says what it needs again when old versions let go of it while the commit waits", async () => {
    const kept = await commit({ "a.txt": "new" });
    leased.base.version_id = kept.body.version.id;
    const empty = await commit({});
    leased.base.version_id = empty.body.version.id;
    // As the retention of versions does: under the workspace's lock, without a change of its row.
    const answer = await underLock((query) =>
      query(sql`DELETE FROM workspace_blobs WHERE workspace_id = ${decodeId("ws", workspace)}`),
    );
    assert.deepEqual([answer.status, answer.body.created], [200, true]);
    const id = decodeId("ws", workspace) as Uuid<"ws">;
    const needed = await server.db.query(sql`SELECT digest FROM workspace_blobs WHERE workspace_id = ${id}`);
    // The piece and the manifest.
    assert.equal(needed.length, 2);
  });
});
