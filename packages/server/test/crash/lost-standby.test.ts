// The only synchronous standby is gone: PostgreSQL confirms no commit until it is back, and says nothing of it.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import pg from "pg";
import { checkSessions } from "../../src/db/check-sessions.ts";
import { CommitsHangError } from "../../src/db/commit-watch.ts";
import { isSilence } from "../../src/db/connection-error.ts";
import { createDatabase } from "../../src/db/pool.ts";
import { REQUEST_LIMITS } from "../../src/db/session-settings.ts";
import { rawSql, sql } from "../../src/db/sql.ts";
import { until } from "../support/until.ts";
import { bundleOf } from "./support/bundle.ts";
import { startPostgresProxy } from "./support/postgres-proxy.ts";
import { enrollRawWorker } from "./support/raw-worker.ts";
import { createDeployment, promoteWhenReady, startSite, type Site } from "./support/site.ts";

const POOL_SIZE = 8;
/** More than there are connections. */
const WRITERS = 30;
const READS = ["/v1/tasks", "/v1/runs", "/v1/tokens", "/v1/sessions"] as const;

let site: Site;
let url: string;
before(async () => {
  site = await startSite({
    ...{ servers: 1, leaseDuration: "120s", poolSize: POOL_SIZE },
    // A PostgreSQL that may have standbys.
    postgresSettings: { wal_level: "replica", max_wal_senders: "2" },
  });
  const [server] = site.servers;
  assert.ok(server);
  ({ url } = server);
  const worker = await enrollRawWorker(site, server, "checker");
  const deployment = await createDeployment(site, bundleOf({ echo: "return payload;" }), [{ id: "echo" }]);
  await worker.passCheck(["echo"]);
  await promoteWhenReady(site, deployment);
});
after(() => site?.stop());

async function waitFor(standbys: string): Promise<void> {
  await site.db.query(rawSql(`ALTER SYSTEM SET synchronous_standby_names = '${standbys}'`));
  await site.db.query(sql`SELECT pg_reload_conf()`);
  await until("PostgreSQL has the setting", 10_000, async () => {
    const [row] = await site.db.query<{ names: string }>(
      sql`SELECT current_setting('synchronous_standby_names') AS names`,
    );
    return row?.names === standbys;
  });
}

const write = (key: string) =>
  site.call(url, "POST", "/v1/tokens", { body: { idempotency_key: key }, timeoutMs: 60_000 });

const problems = async (): Promise<string[]> => {
  const { status, body } = await site.call(url, "GET", "/readyz", { as: "" });
  assert.equal(status, 200);
  return body.problems.map(({ code }: { code: string }) => code);
};

/** What a follower who comes now is told first. */
async function followedEvents(runId: string): Promise<string> {
  const { status, body } = await fetch(`${url}/api/runs/${runId}/events`, {
    headers: { accept: "text/event-stream", authorization: `Bearer ${site.credentials.api_key}` },
  });
  assert.ok(body);
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let seen = "";
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    seen += read.value;
    if (status !== 200 || seen.includes("run_event")) break;
  }
  await reader.cancel();
  assert.equal(status, 200, seen);
  return seen;
}

async function countHanging(): Promise<number> {
  const [row] = await site.db.query<{ count: number }>(
    sql`SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`,
  );
  return row?.count ?? 0;
}

/**
 * PostgreSQL's checkpointer tells all sessions of the setting, when it has heard of it itself. Until then commits are confirmed. Whether
 * they are, a session shows that is nobody else's.
 */
async function loseStandby(): Promise<void> {
  await waitFor("nobody");
  const client = new pg.Client({ connectionString: site.postgres.url });
  // It is ended from outside, as its last commit hangs.
  client.on("error", () => undefined);
  await client.connect();
  const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  const committing = (async () => {
    for (;;) await client.query("SELECT pg_logical_emit_message(true, 'test', '')");
  })();
  const isEnded = assert.rejects(committing);
  await until("a commit hangs", 60_000, async () => (await countHanging()) > 0);
  await site.db.query(sql`SELECT pg_terminate_backend(${rows[0]?.pid ?? 0}::integer)`);
  await isEnded;
  await until("nobody waits any more", 60_000, async () => (await countHanging()) === 0);
}

test("a standby that no commit waits for is told of at the start", async () => {
  const { url: databaseUrl } = site.postgres;
  const warnings = async (): Promise<string[]> => {
    const said: string[] = [];
    const checked = { url: databaseUrl, directUrl: databaseUrl, statementNames: true, poolSize: POOL_SIZE };
    await checkSessions(checked, (text) => said.push(text));
    return said.filter((text) => text.startsWith("PostgreSQL has a standby"));
  };
  assert.deepEqual(await warnings(), []);
  // What follows the log asks for it in this way, before the first byte of it.
  const standby = new pg.Client({ connectionString: databaseUrl, replication: "true" } as pg.ClientConfig);
  await standby.connect();
  try {
    const [warning, ...others] = await warnings();
    assert.match(warning ?? "", /Set synchronous_standby_names, for example to 'ANY 1 \(a, b\)'/);
    assert.deepEqual(others, []);
    const { body } = await site.call(url, "GET", "/admin/api/v1/system", { as: site.credentials.user_token });
    assert.deepEqual([body.database.synchronous_standby_names, body.database.standbys], ["", 1]);
  } finally {
    await standby.end();
  }
});

test("without the standby that commits wait for, writes are refused, reads go on, and nothing is lost or doubled", async () => {
  assert.equal((await write(randomUUID())).status, 201);
  const { body: run } = await site.call(url, "POST", "/v1/tasks/echo/start", { body: {} });
  await loseStandby();

  const keys = Array.from({ length: WRITERS }, () => randomUUID());
  let isOver = false;
  const writing = Promise.all(keys.map(write)).finally(() => (isOver = true));
  await until("commits hang", 30_000, async () => (await countHanging()) > 0);
  const reads = await Promise.all(
    READS.map(async (path) => {
      const statuses: number[] = [];
      await until("writes are answered", 30_000, async () => {
        const { status } = await site.call(url, "GET", path, { timeoutMs: 60_000 });
        statuses.push(status);
        return isOver;
      });
      return statuses;
    }),
  );
  for (const { status, body } of await writing)
    assert.deepEqual([status, body.error?.code], [503, "unavailable"], JSON.stringify(body));
  // A read that waits for a commit to end is answered once, or not.
  for (const statuses of reads) {
    assert.deepEqual(new Set(statuses), new Set([200]));
    assert.ok(statuses.length > 5, `${statuses.length} reads while commits hung`);
  }

  const refused = await write(randomUUID());
  assert.equal(refused.status, 503);
  assert.match(refused.body.error.message, /confirms no writes right now.*Nothing was written; reads work/);
  assert.deepEqual(await problems(), ["commits_hang"]);
  assert.match(await followedEvents(run.id), /run\.created/);
  // Those that hung when it was noticed, and the one that is waited for.
  const hanging = await countHanging();
  assert.ok(hanging >= 1 && hanging < POOL_SIZE, `${hanging} connections hang`);

  await waitFor("");
  await until("writes are taken again", 30_000, async () => (await write(randomUUID())).status === 201);
  assert.deepEqual(await problems(), []);
  const repeated = await Promise.all(keys.map(write));
  assert.deepEqual(new Set(repeated.map(({ status }) => status)), new Set([201]));
  const ids = repeated.map(({ body }) => body.id as string);
  assert.equal(new Set(ids).size, WRITERS);
  const again = await Promise.all(keys.map(write));
  assert.deepEqual(
    again.map(({ body }) => body.id),
    ids,
  );
  assert.equal(await countHanging(), 0);
  console.log(
    `${WRITERS} writers, ${reads.flat().length} reads while commits hung, ${hanging} connections hung`,
  );
});

test("writes go on after a standby is back, also when nothing is heard any more on the connection that waited for it", async () => {
  await site.db.query(rawSql("CREATE TABLE hung (id int)"));
  const proxy = await startPostgresProxy(site.postgres.url);
  const told: boolean[] = [];
  const db = createDatabase({
    ...{ url: proxy.url, poolSize: 4, statementNames: true },
    limits: { ...REQUEST_LIMITS, answerMs: 2_000 },
    onCommitsHang: (isHanging) => void told.push(isHanging),
  });
  const countWaiting = async (): Promise<number> => {
    const [row] = await site.db.query<{ count: number }>(
      sql`SELECT count(*) FROM pg_stat_activity WHERE application_name = 'keelson-commits'`,
    );
    return row?.count ?? 0;
  };
  try {
    const insert = sql`INSERT INTO hung VALUES (1)`;
    await db.query(insert);
    await loseStandby();
    await assert.rejects(db.query(insert), isSilence);
    await assert.rejects(db.query(insert), CommitsHangError);
    proxy.silence();
    proxy.heal();
    assert.equal(await countWaiting(), 1);
    await waitFor("");
    await until("commits are confirmed", 60_000, async () => !db.commitsHang());
    await db.query(insert);
    await until("nobody waits any more", 60_000, async () => (await countWaiting()) === 0);
    assert.deepEqual(told, [true, false]);
  } finally {
    await waitFor("");
    await db.close();
    await proxy.close();
  }
});
