// Everything that a user might deploy runs for half an hour, and nothing becomes slower, dearer or larger. For five of the minutes
// somebody holds a snapshot of the database. The short forms: `core/held-snapshot`, and what retention leaves in `core/nothing-stays`.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { sql } from "../../src/db/sql.ts";
import { isLong, newSeed, seededRandom } from "../support/seeded-random.ts";
import { deployCode } from "./support/deploy-code.ts";
import { startDurableFloor, type DurableFloor } from "./support/durable-floor.ts";
import { postgresMs, watchLoad } from "./support/even-load.ts";
import { MIXED_CODE } from "./support/mixed-code.ts";
import { keepLoading } from "./support/mixed-load.ts";
import { machineFigures, processFigures, type ProcessFigures } from "./support/process-figures.ts";
import { startSite, type ServerProcess, type Site } from "./support/site.ts";
import type { SpawnedProcess } from "./support/spawned-process.ts";

const MINUTE_MS = 60_000;
/** Until code is compiled, processes are booted and statements are prepared. */
const WARM_MINUTES = 2;
const MINUTES = 30;
/** After the first five, which are compared with the last five. */
const HELD_FROM = 10;
const HELD_TO = 15;
/** From the minutes before the snapshot to the last five. */
const MAX_GROWTH = 1.3;

const CODE = `${MIXED_CODE}
export const look = task({ id: "look", execution: "shared", run: () => Date.now() });
`;

let site: Site;
let server: ServerProcess;
let agent: SpawnedProcess;
before(async () => {
  if (!isLong()) return;
  site = await startSite({ servers: 1, leaseDuration: "15s", parkAfter: "300ms" });
  server = site.servers[0] as ServerProcess;
  agent = site.agent({ name: "agent", server, capacity: 16 });
  await agent.start();
  await deployCode(site, server, CODE);
});
after(() => site?.stop());

/** A load of all kinds until the work is done, and until all that it has started has ended. */
async function underLoad<Result>(seed: number, work: () => Promise<Result>): Promise<Result> {
  const progress = { isOver: false };
  const load = keepLoading(site, {
    random: seededRandom(seed),
    isOver: () => progress.isOver,
    acknowledged: { runs: new Map(), inputs: new Map() },
  });
  load.catch(() => undefined);
  try {
    return await work();
  } finally {
    progress.isOver = true;
    await load;
  }
}

type Minute = {
  p50: number;
  p99: number;
  /** Milliseconds of processor for each run that ended. */
  cpu: { server: number; postgres: number; agent: number; all: number };
  runs: number;
  server: ProcessFigures;
  agent: ProcessFigures;
  machine: {
    /** The share of its processors that was used, in percent. */
    busy: number;
    /** Milliseconds of processor for each run, of all but the three: processes of tasks, commands, and this test. */
    othersMs: number;
    /** Milliseconds of a durable insert, p50. */
    floor: number;
  };
};

async function countEnds(): Promise<number> {
  const [row] = await site.db.query<{ last: number }>(
    sql`SELECT coalesce(max(end_number), 0) AS last FROM run_results`,
  );
  return row?.last ?? 0;
}

async function watchMinute(floor: DurableFloor): Promise<Minute> {
  const before = {
    ends: await countEnds(),
    server: processFigures(server.pid),
    agent: processFigures(agent.pid),
    machine: machineFigures(),
  };
  floor.p50();
  const postgresBefore = postgresMs(site, null);
  const { p50, p99 } = await watchLoad(site, server, MINUTE_MS);
  const own = { server: processFigures(server.pid), agent: processFigures(agent.pid) };
  const runs = (await countEnds()) - before.ends;
  const cpu = {
    server: (own.server.cpuMs - before.server.cpuMs) / runs,
    postgres: (postgresMs(site, null) - postgresBefore) / runs,
    agent: (own.agent.cpuMs - before.agent.cpuMs) / runs,
  };
  const all = cpu.server + cpu.postgres + cpu.agent;
  const now = machineFigures();
  const busyMs = now.busyMs - before.machine.busyMs;
  const machine = {
    busy: (100 * busyMs) / (now.allMs - before.machine.allMs),
    othersMs: busyMs / runs - all,
    floor: floor.p50(),
  };
  return { p50, p99, cpu: { ...cpu, all }, runs, ...own, machine };
}

const ms = (value: number): string => value.toFixed(2);
const held = ({ memoryMib, descriptors }: ProcessFigures): string =>
  `${memoryMib} MiB, ${descriptors} descriptors`;
const shown = ({ p50, p99, cpu, runs, machine, ...own }: Minute): string =>
  `p50 ${p50} ms, p99 ${p99} ms; a run ${ms(cpu.all)} ms of processor (server ${ms(cpu.server)}, PostgreSQL ${ms(cpu.postgres)}, ` +
  `agent ${ms(cpu.agent)}), others ${ms(machine.othersMs)}, ${Math.round(machine.busy)} % of the machine; a durable insert ${ms(machine.floor)} ms; ${runs} runs; server ${held(own.server)}; agent ${held(own.agent)}`;

const mean = (minutes: readonly Minute[], of: (minute: Minute) => number): number =>
  minutes.reduce((sum, minute) => sum + of(minute), 0) / minutes.length;

async function databaseSize(): Promise<string> {
  const [row] = await site.db.query<{ size: string }>(
    sql`SELECT pg_size_pretty(pg_database_size(current_database())) AS size`,
  );
  return row?.size ?? "";
}

test(
  "half an hour of a mixed load, with a snapshot held for five minutes of it",
  { skip: !isLong() },
  async (t) => {
    const seed = newSeed();
    t.diagnostic(`seed ${seed}`);
    const floor = await startDurableFloor(site);
    const holder = new pg.Client({ connectionString: site.postgres.url });
    await holder.connect();
    const watchAll = async (): Promise<Minute[]> => {
      for (let minute = 0; minute < WARM_MINUTES; minute += 1) await watchMinute(floor);
      const seen: Minute[] = [];
      for (let minute = 0; minute < MINUTES; minute += 1) {
        if (minute === HELD_FROM) {
          await holder.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
          await holder.query("SELECT FROM executions LIMIT 1");
        }
        if (minute === HELD_TO) await holder.query("COMMIT");
        seen.push(await watchMinute(floor));
        const note = minute >= HELD_FROM && minute < HELD_TO ? ", snapshot held" : "";
        t.diagnostic(
          `minute ${minute + 1}${note}: ${shown(seen.at(-1) as Minute)}; database ${await databaseSize()}`,
        );
      }
      return seen;
    };
    let minutes: Minute[];
    try {
      minutes = await underLoad(seed, watchAll);
    } finally {
      await holder.end();
      await floor.stop();
    }
    const [first, last] = [minutes.slice(0, 5), minutes.slice(-5)];
    const snapshot = minutes.slice(HELD_FROM, HELD_TO);
    for (const [name, part] of Object.entries({ first, snapshot, last }))
      t.diagnostic(
        `${name} five: p50 ${ms(mean(part, ({ p50 }) => p50))} ms, ${ms(mean(part, ({ cpu }) => cpu.all))} ms of processor a run; ` +
          `a durable insert ${ms(mean(part, ({ machine }) => machine.floor))} ms`,
      );
    const ratio = (of: readonly Minute[], figure: (minute: Minute) => number): number =>
      mean(of, figure) / mean(first, figure);
    // The clock of a run's code has whole milliseconds.
    const p50 = ({ p50: value }: Minute): number => value + 1;
    assert.ok(ratio(last, ({ cpu }) => cpu.all) <= 1.1, "processor of a run, last five minutes");
    assert.ok(ratio(last, p50) <= 1.1, "p50, last five minutes");
    assert.ok(ratio(snapshot, ({ cpu }) => cpu.all) <= 1.5, "processor of a run, snapshot held");
    assert.ok(ratio(snapshot, p50) <= 1.5, "p50, snapshot held");
    assert.ok(ratio(last, (minute) => minute.server.descriptors) <= 1.1, "descriptors of the server");
    assert.ok(ratio(last, (minute) => minute.agent.descriptors) <= 1.1, "descriptors of the agent");
    // A heap grows until it has found its size; what grows by the run goes on.
    const grown = minutes.slice(HELD_FROM - 5, HELD_FROM);
    for (const name of ["server", "agent"] as const) {
      const memory = (part: readonly Minute[]): number => mean(part, (minute) => minute[name].memoryMib);
      assert.ok(memory(last) <= MAX_GROWTH * memory(grown), `memory of the ${name}, last five minutes`);
    }
  },
);
