// Two servers behind PgBouncer, as the documentation sets it up: a load over every kind of write gets no refusal while it runs, 503 with
// `Retry-After` when it is killed, and what was acknowledged is there once.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import pg from "pg";
import { PLANNER_SETTINGS } from "../../src/db/session-settings.ts";
import { FORGETS, startPgBouncer, WITHOUT_PGBOUNCER, type PgBouncer } from "../db/support/pgbouncer.ts";
import { isLong } from "../support/seeded-random.ts";
import { until } from "../support/until.ts";
import {
  checkWritten,
  deployForWriters,
  moreThan,
  startWriters,
  underLoad,
} from "./support/acknowledged-load.ts";
import { startSite } from "./support/site.ts";

const WRITERS = isLong() ? 12 : 4;
/** Of each writer, before the pooler is killed and after it. */
const ENOUGH = isLong() ? 60 : 10;
const KILLS = isLong() ? 6 : 1;

/** The planner is the role's to set, as start-up options do not pass. */
async function setPlanner(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (const [name, value] of Object.entries(PLANNER_SETTINGS))
      await client.query(`ALTER ROLE CURRENT_USER SET ${name} = '${value}'`);
  } finally {
    await client.end();
  }
}

describe("behind PgBouncer", { skip: WITHOUT_PGBOUNCER }, () => {
  for (const mode of ["transaction", "session"])
    test(`that pools by ${mode}, nothing is lost or doubled, also when it is killed`, async (t) => {
      const poolers: PgBouncer[] = [];
      let directUrl = "";
      const site = await startSite({
        ...{ servers: 2, leaseDuration: "120s", poolSize: 6 },
        databaseUrlOf: async (url) => {
          directUrl = url;
          await setPlanner(url);
          const pooler = await startPgBouncer(url, { pool_mode: mode, default_pool_size: "8", ...FORGETS });
          poolers.push(pooler);
          return pooler.url;
        },
        serverEnvOf: () => ({ DATABASE_DIRECT_URL: directUrl, KEELSON_STATEMENT_NAMES: "off" }),
      });
      t.after(async () => {
        await site.stop();
        await Promise.all(poolers.map((pooler) => pooler.stop()));
      });
      await deployForWriters(site);
      const written = await startWriters(site, WRITERS);
      const load = await underLoad(site, written, async (running) => {
        await moreThan(running, 0, WRITERS * ENOUGH);
        assert.deepEqual([running.refused, running.wrong], [0, []]);
        for (let kill = 0; kill < KILLS; kill += 1) {
          const earlier = running.refused;
          await poolers[kill % poolers.length]?.restart();
          await until("a write is refused", 60_000, async () => running.refused > earlier);
          await moreThan(running, performance.now(), WRITERS * ENOUGH);
        }
      });
      assert.deepEqual(load.wrong, []);
      t.diagnostic(
        `${mode}: ${load.times.length} writes, ${KILLS} kills of a pooler, ${load.refused} times 503`,
      );
      t.diagnostic(await checkWritten(site, directUrl, written));
    });
});
