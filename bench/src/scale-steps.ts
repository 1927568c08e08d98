import { measureBacklog, type Backlog } from "./goals/p14-backlogs.ts";
import { measureRenewals } from "./goals/p15-renewals.ts";
import { measureFanOut, measureSteps } from "./goals/p17-steps.ts";
import { measureWaits, type WaitSizes } from "./goals/p19-waits.ts";
import { median } from "./harness/statistics.ts";
import { readKey, withKeelson } from "./ours/deployed.ts";
import type { Keelson } from "./ours/keelson.ts";
import type { BenchPostgres } from "./harness/postgres.ts";
import type { Round } from "./goal-row.ts";
import type { Step } from "./round.ts";

/** How much there is of what has to cost the same however much there is. */
export type ScaleSizes = {
  /** P14: so many runs of a backlog are drained, whatever its length. */
  drained: number;
  /** P14: the shortest, the middle and the longest backlog. */
  backlogs: readonly [number, number, number];
  /** P15: leases that one worker holds. */
  leases: readonly [number, number, number];
  steps: number;
  waits: WaitSizes;
  fanOut: { chunks: number; size: number };
};

export const FULL_SCALE: ScaleSizes = {
  drained: 3_000,
  backlogs: [5_000, 50_000, 200_000],
  leases: [1_000, 5_000, 20_000],
  steps: 5_000,
  waits: { byDefault: 1_000, shared: 10_000, samples: 500, settleMs: 20_000 },
  fanOut: { chunks: 10, size: 500 },
};

export const QUICK_SCALE: ScaleSizes = {
  drained: 500,
  backlogs: [1_000, 2_000, 4_000],
  leases: [100, 500, 1_000],
  steps: 500,
  waits: { byDefault: 100, shared: 500, samples: 100, settleMs: 2_000 },
  fanOut: { chunks: 4, size: 100 },
};

export function listScaleSteps(postgres: BenchPostgres, sizes: ScaleSizes): Step[] {
  const { drained, backlogs } = sizes;
  const backlog = (figure: string, kind: Backlog, runs: number): Step => ({
    name: `${figure.slice(0, 3)} of ${runs} runs: ${kind}`,
    part: "scale",
    measure: (round) =>
      inProject(postgres, async (keelson) => {
        round[figure] = await measureBacklog(keelson, kind, { runs, drained });
      }),
  });
  return [
    backlog("P14.none", "none", backlogs[0]),
    backlog("P14.short", "keys", backlogs[0]),
    backlog("P14.middle", "keys", backlogs[1]),
    backlog("P14.long", "keys", backlogs[2]),
    backlog("P20.one", "one queue", backlogs[0]),
    backlog("P20.many", "many queues", backlogs[0]),
    { name: "P15", part: "scale", measure: (round) => measureLeases(postgres, sizes, round) },
    { name: "P17 P20", part: "scale", measure: (round) => measureJournals(postgres, sizes, round) },
    { name: "P19 P20", part: "scale", measure: (round) => measureWaiting(postgres, sizes, round) },
  ];
}

const inProject = (postgres: BenchPostgres, measure: (keelson: Keelson) => Promise<void>): Promise<void> =>
  withKeelson(postgres, async (keelson) => measure(keelson.as(await readKey(postgres, "project"))));

function measureLeases(postgres: BenchPostgres, { leases }: ScaleSizes, round: Round): Promise<void> {
  return withKeelson(postgres, async (keelson) => {
    const figures = await measureRenewals(keelson, leases);
    for (const [index, name] of ["few", "some", "many"].entries())
      round[`P15.${name}`] = figures.get(leases[index] ?? 0) ?? Number.NaN;
  });
}

function measureJournals(
  postgres: BenchPostgres,
  { steps, fanOut }: ScaleSizes,
  round: Round,
): Promise<void> {
  return inProject(postgres, async (keelson) => {
    await keelson.startAgent(16);
    for (const [name, figure] of Object.entries(await measureSteps(keelson, steps)))
      round[`P17.${name}`] = figure;
    const chunks = await measureFanOut(keelson, fanOut.chunks, fanOut.size);
    round["P20.children"] = chunks.reduce((sum, ms) => sum + ms, 0);
    const third = Math.ceil(chunks.length / 3);
    round["P20.firstChunks"] = median(chunks.slice(0, third));
    round["P20.lastChunks"] = median(chunks.slice(-third));
  });
}

function measureWaiting(postgres: BenchPostgres, { waits }: ScaleSizes, round: Round): Promise<void> {
  return inProject(postgres, async (keelson) => {
    const agent = await keelson.startAgent(16);
    const figures = await measureWaits(keelson, agent.pid, waits);
    for (const [name, figure] of Object.entries(figures)) round[`P19.${name}`] = figure;
  });
}
