// R9: simulated years of schedules, ten in the long form, with servers that are killed in the middle, against an independent list.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { decodeId, type Uuid } from "@keelson/contract";
import { ADMITTED } from "../../src/core/quotas/run-quota.ts";
import { createDeploymentCache } from "../../src/core/entrypoints/deployment-cache.ts";
import { putSchedule } from "../../src/core/schedules/define-schedule.ts";
import { fireSchedules } from "../../src/core/schedules/fire-schedules.ts";
import { nextRunOf } from "../../src/core/schedules/next-run.ts";
import { findNextRunAt, lockDueSchedules } from "../../src/core/schedules/schedule-reads.ts";
import { createDatabase, type Database } from "../../src/db/pool.ts";
import type { Tx } from "../../src/db/queryable.ts";
import { sql } from "../../src/db/sql.ts";
import { createUuidGenerator } from "../../src/uuid.ts";
import { isLong, seededRandom } from "../support/seeded-random.ts";
import { startApiServer } from "../support/api-server.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { createReadyDeployment, promote, startWorker } from "../support/deploy.ts";
import { dueTimes, lookAtClock, type Expectation } from "../support/due-times.ts";

const ZONES = [
  "Europe/Berlin",
  "America/New_York",
  "America/Santiago", // Changes at midnight.
  "Australia/Lord_Howe", // Changes by half an hour.
  "Africa/Casablanca", // Changes around Ramadan.
];

const onHour = ({ minute }: { minute: number }): boolean => minute === 0;

const CHANGES = [3, 4, 9, 10, 11];

/** Most of it where clocks change, so that ten years are few enough times for a test. */
const EXPECTATIONS: Expectation[] = [
  { cron: "30 2 * * 0", kind: "fixed", fits: (w) => w.weekday === 0 && w.hour === 2 && w.minute === 30 },
  { cron: "0 0 * * SUN", kind: "fixed", fits: (w) => w.weekday === 0 && w.hour === 0 && onHour(w) },
  { cron: "0,30 2 1 * *", kind: "fixed", fits: (w) => w.day === 1 && w.hour === 2 },
  {
    cron: "0 0 29 2 *",
    kind: "fixed",
    fits: (w) => w.month === 2 && w.day === 29 && w.hour === 0 && onHour(w),
  },
  {
    cron: "0 */2 * 3,4,9,10,11 0#1",
    kind: "fixed",
    fits: (w) => CHANGES.includes(w.month) && w.weekday === 0 && w.day <= 7 && w.hour % 2 === 0 && onHour(w),
  },
  {
    cron: "*/30 1-2 * 3,4,9,10,11 0",
    kind: "clock",
    fits: (w) => CHANGES.includes(w.month) && w.weekday === 0 && (w.hour === 1 || w.hour === 2),
  },
  { cron: "0 * 25 3 *", kind: "clock", fits: (w) => w.day === 25 && w.month === 3 && onHour(w) },
];

/** By zone and expression, in the order of the tables above. */
let due: { timezone: string; cron: string; times: number[] }[];

/** With one that has a 29th of February. */
const YEARS = isLong() ? 10 : 3;
const ENOUGH_KILLS = 10 * YEARS;
const FROM = Date.UTC(2027, 0, 1);
const TO = Date.UTC(2027 + YEARS, 0, 1);

let now = FROM;
let database: TestDatabase;
let db: Database;
let place: { environmentId: Uuid<"env">; projectId: Uuid<"proj"> };

before(() => {
  due = ZONES.flatMap((timezone) => {
    const looks = lookAtClock(timezone, FROM, TO);
    return EXPECTATIONS.map((one) => ({ timezone, cron: one.cron, times: dueTimes(looks, one) }));
  });
});
before(async () => {
  database = await createTestDatabase();
  const keep = { ...database, drop: () => Promise.resolve() };
  // Only for its deployment: its own clock knows nothing of the simulated years.
  const server = await startApiServer({ database: keep });
  const deployment = await createReadyDeployment(server, await startWorker(server), {
    tasks: [{ id: "tick" }],
  });
  await promote(server, deployment.id);
  place = {
    environmentId: decodeId("env", server.credentials.environment_id) as Uuid<"env">,
    projectId: decodeId("proj", server.credentials.project_id) as Uuid<"proj">,
  };
  await server.stop();
  db = createDatabase({ url: database.url, poolSize: 4, statementNames: true });
});
after(async () => {
  await db.close();
  await database.drop();
});

class Killed extends Error {}

/** Dies before its nth statement; the one after the last is the commit. */
function killedAt(tx: Tx, statement: number): Tx {
  let left = statement;
  const query: Tx["query"] = async (text) => {
    left -= 1;
    if (left < 0) throw new Killed();
    return tx.query(text);
  };
  return { ...tx, query };
}

test("every due time is what an independent look at the clocks says", () => {
  let count = 0;
  for (const { timezone, cron, times } of due) {
    const next = nextRunOf(cron, timezone);
    const found: number[] = [];
    for (let at = next(FROM - 1); at !== null && at <= TO; at = next(at)) found.push(at);
    assert.deepEqual(found, times, `${cron} in ${timezone}`);
    count += found.length;
  }
  console.log(`${count} due times in ${ZONES.length} zones × ${EXPECTATIONS.length} expressions agree`);
});

test(`${YEARS} years of slots are each settled once, through kills and outages`, async () => {
  const random = seededRandom(9);
  const clock = (): number => now;
  const context = {
    deployments: createDeploymentCache({ db, clock }),
    runQuota: ADMITTED,
    newUuid: createUuidGenerator(clock),
  };
  const expected = new Map<string, number[]>();
  for (const { timezone, cron, times } of due) {
    const request = { deduplication_key: randomUUID(), task: "tick", cron, timezone };
    const { scheduleId } = await db.transaction((tx) => putSchedule(tx, context, place, request, FROM - 1));
    expected.set(scheduleId, times);
  }

  let kills = 0;
  let rounds = 0;
  // A server's life: it fires what is due, or dies before a statement or before the commit.
  const live = async (): Promise<void> => {
    // Of its statements; the fourth place is before the commit.
    const dies = random() < 0.2 ? Math.floor(random() * 4) : Infinity;
    try {
      await db.transaction(async (tx) => {
        const dying = killedAt(tx, dies);
        const due = await lockDueSchedules(dying, now, 100);
        if (due.length > 0) await fireSchedules(context, dying, due, now);
        if (dies < Infinity && due.length > 0) throw new Killed();
      });
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
      kills += 1;
    }
  };
  for (;;) {
    const nextRunAt = await findNextRunAt(db, now);
    if (nextRunAt === null || nextRunAt > TO) break;
    // Now and then days or weeks without a server.
    const away = random() < 0.7 ? 0 : random() ** 8 * 40 * 86_400_000;
    now = Math.min(TO, Math.floor(nextRunAt + away));
    // Two servers at once, until nothing is due.
    do {
      await Promise.all([live(), live()]);
      rounds += 1;
    } while (((await findNextRunAt(db, now)) ?? Infinity) <= now);
  }
  await check(expected, { rounds, kills });
});

async function check(
  expected: Map<string, number[]>,
  told: { rounds: number; kills: number },
): Promise<void> {
  const rows = await db.query<{ id: string; at: number; status: string }>(sql`
    SELECT schedule_id AS id, scheduled_at AS at, status FROM schedule_occurrences ORDER BY schedule_id, scheduled_at`);
  const ledger = Map.groupBy(rows, ({ id }) => id);
  let missing = 0;
  let doubled = 0;
  let unexpected = 0;
  for (const [id, times] of expected) {
    const settled = (ledger.get(id) ?? []).map(({ at }) => at);
    missing += times.filter((at) => !settled.includes(at)).length;
    unexpected += settled.filter((at) => !times.includes(at)).length;
    doubled += settled.length - new Set(settled).size;
  }
  const [runs] = await db.query<{ runs: number; slots: number; unknown: number }>(sql`
    SELECT count(*) AS runs, count(DISTINCT (r.schedule_id, r.payload::json ->> 'scheduled_at')) AS slots,
      count(*) FILTER (WHERE o.run_id IS NULL) AS unknown
    FROM runs r LEFT JOIN schedule_occurrences o ON o.schedule_id = r.schedule_id AND o.run_id = r.id
    WHERE r.schedule_id IS NOT NULL`);
  const fired = rows.filter(({ status }) => status === "fired").length;
  const slots = [...expected.values()].reduce((sum, times) => sum + times.length, 0);
  console.log(
    `${slots} slots of ${expected.size} schedules in ${YEARS} years: ${fired} fired, ${rows.length - fired} missed in outages; ` +
      `${told.rounds} rounds of two servers, ${told.kills} kills; ${doubled} doubled, ${missing} missing`,
  );
  assert.deepEqual({ missing, doubled, unexpected }, { missing: 0, doubled: 0, unexpected: 0 });
  assert.deepEqual({ ...runs }, { runs: fired, slots: fired, unknown: 0 });
  assert.ok(fired > slots / 4 && told.kills > ENOUGH_KILLS);
}
