// The PostgreSQL that is written to goes, and its synchronous standby takes over: callers get 503 with `Retry-After` and no other refusal,
// the servers find the new one by themselves, and what was acknowledged is there once.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { isLong } from "../support/seeded-random.ts";
import { until } from "../support/until.ts";
import {
  checkWritten,
  deployForWriters,
  moreThan,
  startWriters,
  underLoad,
} from "./support/acknowledged-load.ts";
import {
  ENDINGS,
  startReplicatedPostgres,
  type Ending,
  type ReplicatedPostgres,
} from "./support/replicated-postgres.ts";
import { startSite, type Site } from "./support/site.ts";

const WRITERS = isLong() ? 12 : 4;
const ROUNDS: readonly Ending[] = isLong() ? [...ENDINGS, ...ENDINGS, ...ENDINGS] : ["killed", "demoted"];
/** Of each writer before the other one takes over, and after it. */
const ENOUGH = isLong() ? 60 : 10;
/** How soon the first write is taken after the address has moved: a silent one has to be found out. */
const longestMs = (ending: Ending): number => (ending === "silent" ? 10_000 : 1_000);

let postgres: ReplicatedPostgres;
let site: Site;
before(async () => {
  postgres = await startReplicatedPostgres();
  site = await startSite({ servers: 2, leaseDuration: "120s", databaseUrlOf: async () => postgres.url });
  await deployForWriters(site);
});
after(async () => {
  await site?.stop();
  await postgres?.stop();
});

test("the standby takes over, however the one in front goes, and nothing is lost or doubled", async (t) => {
  const written = await startWriters(site, WRITERS);
  for (const [round, ending] of ROUNDS.entries()) {
    if (round > 0) await postgres.replace();
    let movedAt = 0;
    const load = await underLoad(site, written, async (running) => {
      await moreThan(running, 0, WRITERS * ENOUGH);
      movedAt = await postgres.failOver(ending, async () => {
        const earlier = running.refused;
        await until("a write is refused", 60_000, async () => running.refused > earlier);
      });
      await moreThan(running, movedAt, WRITERS * ENOUGH);
    });
    const firstMs = Math.min(...load.times.filter((time) => time > movedAt)) - movedAt;
    t.diagnostic(
      `${ending}: first write ${Math.round(firstMs)} ms after the address had moved; ${load.times.length} writes, ${load.refused} times 503`,
    );
    assert.deepEqual(load.wrong, []);
    if (isLong()) assert.ok(firstMs <= longestMs(ending), `${ending}: ${firstMs} ms`);
  }
  t.diagnostic(await checkWritten(site, postgres.primaryUrl, written));
});
