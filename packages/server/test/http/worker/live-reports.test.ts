// The word that a workspace is live is one statement. It keeps what the transaction keeps that decides every other case.

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { createDatabase, type Database } from "../../../src/db/pool.ts";
import { sql, type Sql } from "../../../src/db/sql.ts";
import { startApiServer, type Answer, type ApiServer } from "../../support/api-server.ts";
import { recordQueries } from "../../support/record-queries.ts";
import { until } from "../../support/until.ts";
import { startWorkspaceWorker, type WorkspaceWorker } from "../../support/workspace-worker.ts";
import { workspaceCalls } from "../../support/workspaces.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const LIVE = /UPDATE materializations m SET status = 'live'/;

describe("the word that a workspace is live", () => {
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
    const created = await server.call("POST", at("/execs"), { body: { command: ["make"] } });
    exec = created.body.id;
    leased = await worker.take();
  });
  afterEach(async () => {
    await server.call("DELETE", at(""));
    await worker.stopped(leased);
  });

  const at = (rest: string): string => `/api/workspaces/${workspace}${rest}`;
  const live = (extra: object = {}): Promise<Answer> =>
    worker.call("/workspaces/live", {
      ...worker.fields(leased),
      isolation: "namespace",
      starts: [exec],
      ...extra,
    });
  const statusOf = async (): Promise<string[]> => [
    (await server.call("GET", at(""))).body.materialization.status,
    (await server.call("GET", at(`/execs/${exec}`))).body.status,
  ];

  /** Says it while somebody else has the workspace locked, who changes something then. */
  async function liveBehind(change: Sql): Promise<Answer> {
    let waiting: Promise<Answer> | undefined;
    await other.transaction(async (tx) => {
      await tx.query(sql`SELECT FROM workspaces WHERE id = ${decodeId("ws", workspace)} FOR NO KEY UPDATE`);
      waiting = live();
      await until("it waits for the lock", 5_000, async () => {
        const rows = await server.db.query(sql`
          SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`);
        return rows.length > 0;
      });
      await tx.query(change);
    });
    return waiting as Promise<Answer>;
  }

  test("starts what waits for it, in one statement", async () => {
    const queries = await recordQueries(async () => {
      const { status, body } = await live();
      assert.deepEqual([status, body.status, body.started], [200, "live", [exec]]);
    });
    const own = queries.find(({ text }) => LIVE.test(text));
    assert.ok(own);
    assert.ok(
      !queries.some(({ text, connection }) => connection === own.connection && text.startsWith("BEGIN")),
    );
    assert.deepEqual(await statusOf(), ["live", "running"]);
  });

  test("is answered the same when it is repeated", async () => {
    const first = await live();
    const again = await live();
    assert.deepEqual([again.status, again.body], [200, first.body]);
  });

  test("starts nothing that is not the workspace's, or that has ended", async () => {
    const elsewhere = (await workspaceCalls(server).create()).id as string;
    const { body } = await server.call("POST", `/api/workspaces/${elsewhere}/execs`, {
      body: { command: ["make"] },
    });
    const gone = await server.call("POST", at(`/execs/${exec}/signal`), { body: { signal: "SIGKILL" } });
    assert.equal(gone.status, 200, gone.text);
    const answer = await live({ starts: [exec, body.id, exec.replace(/^exec/, "pty")] });
    await server.call("DELETE", `/api/workspaces/${elsewhere}`);
    assert.deepEqual([answer.status, answer.body.started], [200, []]);
  });

  test("is refused for an isolation that is weaker than what is required, and under an epoch that is over", async () => {
    await other.query(sql`
      UPDATE materializations SET required_isolation = 'namespace' WHERE id = ${decodeId("mat", leased.materialization_id)}`);
    const weak = await live({ isolation: "process" });
    const stale = await live({ epoch: leased.epoch + 1 });
    assert.deepEqual(
      [weak, stale].map(({ status, body }) => [status, body.error.code]),
      [
        [400, "invalid_request"],
        [409, "lease_lost"],
      ],
    );
    assert.deepEqual(await statusOf(), ["preparing", "pending"]);
  });

  test("is refused when the workspace is taken from the worker while it waits", async () => {
    const { status, body } = await liveBehind(sql`
      UPDATE materializations SET epoch = epoch + 1 WHERE id = ${decodeId("mat", leased.materialization_id)}`);
    assert.deepEqual([status, body.error.code], [409, "lease_lost"]);
    assert.deepEqual(await statusOf(), ["preparing", "pending"]);
    leased = { ...leased, epoch: leased.epoch + 1 };
  });

  test("does not undo a stop that comes while it waits", async () => {
    const { status, body } = await liveBehind(sql`
      UPDATE materializations SET status = 'stopping' WHERE id = ${decodeId("mat", leased.materialization_id)}`);
    assert.deepEqual([status, body.status], [200, "stopping"]);
    assert.equal((await statusOf())[0], "stopping");
  });

  test("starts no process that ends while it waits", async () => {
    const { status, body } = await liveBehind(sql`
      UPDATE processes SET status = 'cancelled', finished_at = now() WHERE id = ${decodeId("exec", exec)}`);
    assert.deepEqual([status, body.status, body.started], [200, "live", []]);
    assert.deepEqual(await statusOf(), ["live", "cancelled"]);
  });
});
