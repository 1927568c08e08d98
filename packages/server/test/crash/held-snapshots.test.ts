// Somebody holds a snapshot of the database for minutes, as a dump or an analyst does, and runs begin as quickly as before.
// The short form counts what a claim looks at: `core/held-snapshot`.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { isLong } from "../support/seeded-random.ts";
import { deployCode } from "./support/deploy-code.ts";
import { LOOK, shown, watchLoad, type Seen } from "./support/even-load.ts";
import { startSite, type ServerProcess, type Site } from "./support/site.ts";

const FREE_MS = 30_000;
const HELD_MS = 300_000;
const WINDOW_MS = 30_000;

let site: Site;
let server: ServerProcess;
before(async () => {
  if (!isLong()) return;
  site = await startSite({ servers: 1, leaseDuration: "15s" });
  server = site.servers[0] as ServerProcess;
  await site.agent({ name: "agent", server, capacity: 16 }).start();
  await deployCode(site, server, LOOK);
});
after(() => site?.stop());

const watch = (ms: number): Promise<Seen> => watchLoad(site, server, ms);

test("a snapshot that is held for five minutes slows nothing down", { skip: !isLong() }, async (t) => {
  await watch(5_000);
  const free = await watch(FREE_MS);
  t.diagnostic(`free: ${shown(free)}`);
  const holder = new pg.Client({ connectionString: site.postgres.url });
  await holder.connect();
  const held: Seen[] = [];
  try {
    await holder.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    await holder.query("SELECT FROM executions LIMIT 1");
    const begun = performance.now();
    while (performance.now() - begun < HELD_MS) {
      held.push(await watch(WINDOW_MS));
      t.diagnostic(
        `held for ${Math.round((performance.now() - begun) / 1_000)} s: ${shown(held.at(-1) as Seen)}`,
      );
    }
    await holder.query("COMMIT");
  } finally {
    await holder.end();
  }
  t.diagnostic(`after it: ${shown(await watch(FREE_MS))}`);
  const last = held.at(-1) as Seen;
  assert.ok(last.p50 <= 1.5 * free.p50 + 1, `p50 ${free.p50} → ${last.p50} ms`);
  assert.ok(last.cpuMs <= 1.5 * free.cpuMs, `PostgreSQL ${free.cpuMs} → ${last.cpuMs} ms a run`);
});
