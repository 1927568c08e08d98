// A database whose operator has turned synchronous_commit off, for it or for the role: what was acknowledged is flushed all
// the same, and is there after PostgreSQL was killed with everything that it had not written.

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { decodeId, type Uuid } from "@keelson/contract";
import { createDatabase } from "../../src/db/pool.ts";
import { rawSql, sql } from "../../src/db/sql.ts";
import { bundleOf } from "./support/bundle.ts";
import { enrollRawWorker } from "./support/raw-worker.ts";
import { createDeployment, promoteWhenReady, startSite, type Site } from "./support/site.ts";
import { until } from "../support/until.ts";

const CALLERS = 16;
const ROUNDS = 4;
const STARTS_A_ROUND = 1_200;

let site: Site;
before(async () => {
  site = await startSite({
    servers: 1,
    leaseDuration: "120s",
    databaseUrlOf: async (url) => {
      const admin = createDatabase({ url, poolSize: 1, statementNames: true });
      await admin.query(rawSql("ALTER DATABASE keelson SET synchronous_commit = off"));
      await admin.query(rawSql("ALTER ROLE CURRENT_USER SET synchronous_commit = off"));
      await admin.close();
      return url;
    },
  });
});
after(() => site?.stop());

/** The postmaster and all its processes, with SIGKILL and at once: what is only in their memory is gone. */
async function killPostgres(): Promise<void> {
  const { pid } = site.postgres;
  const victims = [pid];
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    // It may have ended since it was listed.
    const stat = await readFile(`/proc/${name}/stat`, "utf8").catch(() => "");
    if (Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]) === pid) victims.push(Number(name));
  }
  for (const victim of victims) {
    try {
      process.kill(victim, "SIGKILL");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
}

async function startUntilKilled(url: string, acknowledged: string[]): Promise<void> {
  const wanted = acknowledged.length + STARTS_A_ROUND;
  let isKilled = false;
  const keepStarting = async (): Promise<void> => {
    while (!isKilled) {
      const answer = await site.call(url, "POST", "/v1/tasks/echo/start", { body: {} });
      if (answer.status === 201) acknowledged.push(answer.body.id);
      else assert.equal(answer.status, 503, JSON.stringify(answer.body));
      // In the middle of the load, so that much was acknowledged just now.
      if (!isKilled && acknowledged.length >= wanted) {
        isKilled = true;
        await killPostgres();
      }
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, keepStarting));
}

test(
  "no acknowledged start is lost with synchronous_commit off for database and role, and SIGKILL of PostgreSQL",
  { skip: process.platform !== "linux" && "processes of PostgreSQL are found in /proc" },
  async () => {
    const [server] = site.servers;
    assert.ok(server);
    const worker = await enrollRawWorker(site, server, "checker");
    const deployment = await createDeployment(site, bundleOf({ echo: "return payload;" }), [{ id: "echo" }]);
    await worker.passCheck(["echo"]);
    await promoteWhenReady(site, deployment);

    const acknowledged: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      await startUntilKilled(server.url, acknowledged);
      await until("the server answers again", 30_000, async () => {
        return (await site.call(server.url, "GET", "/readyz", { as: "" })).status === 200;
      });
    }
    const ids = acknowledged.map((id) => decodeId("run", id) as Uuid<"run">);
    const [row] = await site.db.query<{ count: number }>(
      sql`SELECT count(*) FROM runs WHERE id = ANY(${ids}::uuid[])`,
    );
    const lost = ids.length - (row?.count ?? 0);
    console.log(`PostgreSQL killed ${ROUNDS} times · ${ids.length} starts acknowledged, lost ${lost}`);
    assert.equal(lost, 0);
  },
);
