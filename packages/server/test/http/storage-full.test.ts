// A disk of the database, and one of the blob store, that has no room left, and then has it again.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { cp, rm, symlink } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { decodeId, type Uuid } from "@keelson/contract";
import { startEmbeddedServer, type EmbeddedServer } from "../../src/embedded-postgres/embedded-server.ts";
import { findRunAs } from "../../src/embedded-postgres/run-as.ts";
import { sql } from "../../src/db/sql.ts";
import { fill, mountSmallDisk } from "../crash/support/full-disk.ts";
import { digestOf, startApiServer, type Answer, type ApiServer } from "../support/api-server.ts";
import { createReadyDeployment, promote } from "../support/deploy.ts";
import { enrollWorker } from "../support/raw-worker.ts";
import { isLong } from "../support/seeded-random.ts";
import { makeTestFolder, removeTestFolder } from "../support/test-folder.ts";
import { letPass, until } from "../support/until.ts";

function checkFull(answer: Answer, store: string): void {
  assert.equal(answer.status, 507, answer.text);
  assert.equal(answer.body.error.code, "storage_full");
  assert.equal(answer.body.error.details.store, store);
  assert.equal(answer.headers.get("retry-after"), "5");
}

async function problemsOf(server: ApiServer): Promise<string[]> {
  const { status, body, text } = await server.call("GET", "/readyz", { as: null });
  assert.equal(status, 200, text);
  return body.problems.map(
    (problem: { code: string; message: string }) => `${problem.code} ${problem.message}`,
  );
}

async function start(server: ApiServer, payload: unknown = {}): Promise<Answer> {
  return server.call("POST", "/v1/tasks/report/start", { body: { payload } });
}

async function deploy(server: ApiServer): Promise<void> {
  const worker = await enrollWorker(server);
  const deployment = await createReadyDeployment(server, worker.token, { tasks: [{ id: "report" }] });
  await promote(server, deployment.id);
}

describe("a full disk", { concurrency: false }, () => {
  let folder: string;
  before(async () => (folder = await makeTestFolder()));
  after(() => removeTestFolder(folder));

  describe("of the blob store", () => {
    test("refuses writes with 507, goes on with reads, and is written to again when it has room", async (t) => {
      const server = await startApiServer();
      const blobs = path.join(server.dataDir, "blobs");
      const small = await mountSmallDisk(blobs, 4 << 20);
      try {
        if (small === null) return t.skip("needs the right to mount a small disk");
        const kept = Buffer.from("export default {};");
        const put = (bytes: Buffer): Promise<Answer> =>
          server.call("PUT", `/v1/deployment-bundles/${digestOf(bytes)}`, { bytes });
        assert.equal((await put(kept)).status, 200);
        const ballast = await fill(blobs);
        const large = Buffer.alloc(2 << 20, 7);
        checkFull(await put(large), "blobs");
        assert.match((await problemsOf(server)).join(), /^storage_full .*blob store/);
        assert.equal((await server.call("GET", "/v1/runs")).status, 200);
        await ballast.free();
        assert.deepEqual(await problemsOf(server), []);
        assert.equal((await put(large)).status, 200);
      } finally {
        small?.unmount();
        await server.stop();
      }
    });
  });

  for (const [told, isOnDisk] of [
    ["tables", "tables"],
    ["log", "log"],
  ] as const) {
    test(`of PostgreSQL's ${told} loses nothing that was acknowledged, and writes work again when it has room`, async (t) => {
      const place = path.join(folder, `small-${told}`);
      const disk = await mountSmallDisk(place, 160 << 20);
      if (disk === null) return t.skip("needs the right to mount a small disk");
      const postgres = await startSplit(folder, place, isOnDisk);
      const server = await startApiServer({ database: { url: postgres.url, drop: () => postgres.stop() } });
      try {
        await deploy(server);
        await (isOnDisk === "tables" ? fillTables(server, place) : fillLog(server, place));
      } finally {
        await server.stop();
        disk.unmount();
      }
    });
  }
});

/** A cluster of which the tables or the log are on the small disk, and the other is not. */
async function startSplit(folder: string, disk: string, isOnDisk: "tables" | "log"): Promise<EmbeddedServer> {
  const [ofTables, ofLog] = isOnDisk === "tables" ? [disk, folder] : [folder, disk];
  const dataDir = path.join(ofTables, "postgres");
  const made = await startEmbeddedServer({ dataDir });
  await made.stop();
  const inCluster = path.join(dataDir, "cluster", "pg_wal");
  const log = path.join(ofLog, "wal");
  await cp(inCluster, log, { recursive: true });
  await rm(inCluster, { recursive: true });
  await symlink(log, inCluster);
  const { uid, gid, switched } = await findRunAs();
  if (switched) execFileSync("chown", ["-Rh", `${uid}:${gid}`, log, inCluster]);
  return startEmbeddedServer({ dataDir });
}

const payloadOf = (at: number): string => `${at}${randomBytes(40_000).toString("base64")}`;

/** Starts runs until one is refused, and gives that answer. */
async function startUntilRefused(server: ApiServer, acknowledged: string[]): Promise<Answer> {
  for (let at = 0; ; at += 1) {
    const answer = await start(server, payloadOf(at));
    if (answer.status !== 201) return answer;
    acknowledged.push(answer.body.id);
  }
}

async function countLost(server: ApiServer, acknowledged: string[]): Promise<number> {
  const ids = acknowledged.map((id) => decodeId("run", id) as Uuid<"run">);
  const [row] = await server.db.query<{ count: number }>(
    sql`SELECT count(*) FROM runs WHERE id = ANY(${ids}::uuid[])`,
  );
  return ids.length - (row?.count ?? 0);
}

async function fillTables(server: ApiServer, disk: string): Promise<void> {
  const acknowledged: string[] = [];
  for (let at = 0; at < 40; at += 1) {
    const answer = await start(server, payloadOf(at));
    assert.equal(answer.status, 201, answer.text);
    acknowledged.push(answer.body.id);
  }
  const ballast = await fill(disk);
  checkFull(await startUntilRefused(server, acknowledged), "database");
  assert.equal((await server.call("GET", "/v1/runs?limit=1")).status, 200, "reads go on");
  const [written] = await server.db.query<{ count: number }>(sql`SELECT count(*) FROM runs`);
  assert.equal(written?.count, acknowledged.length, "what was refused was not written");
  assert.match((await problemsOf(server)).join(), /^storage_full .*database/);
  await ballast.free();
  assert.equal((await start(server)).status, 201, "it is written again as soon as there is room");
  assert.deepEqual(await problemsOf(server), []);
  const lost = await countLost(server, acknowledged);
  console.log(`tables: ${acknowledged.length} starts acknowledged before the disk was full, lost ${lost}`);
  assert.equal(lost, 0);
}

/** PostgreSQL cannot go on without its log: it stops, and whoever runs it starts it until there is room. */
async function fillLog(server: ApiServer, disk: string): Promise<void> {
  const acknowledged: string[] = [];
  const ballast = await fill(disk);
  const refused = await startUntilRefused(server, acknowledged);
  assert.ok([503, 507].includes(refused.status), refused.text);
  for (let look = 0; look < 20; look += 1) {
    assert.notEqual((await start(server)).status, 201);
    await letPass(50, "it stays down while the disk is full");
  }
  assert.equal((await server.call("GET", "/readyz", { as: null })).status, 503);
  await ballast.free();
  const freedAt = performance.now();
  await until("a start to be accepted", 60_000, async () => (await start(server)).status === 201);
  const recoveredMs = performance.now() - freedAt;
  const lost = await countLost(server, acknowledged);
  console.log(
    `log: ${acknowledged.length} starts acknowledged before the disk was full, lost ${lost}; recovered after ${Math.round(recoveredMs)} ms`,
  );
  assert.equal(lost, 0);
  if (isLong()) assert.ok(recoveredMs < 30_000, `it took ${recoveredMs} ms`);
}
