import { measureBareHttp } from './floors/f4-bare-http.ts';
import { measureBatchInserts } from './floors/f2-batch-insert.ts';
import { measureClaimComplete } from './floors/f3-claim-complete.ts';
import { measureInsertLatency, measureSingleInserts } from './floors/f1-single-insert.ts';
import { measureDrain } from './goals/p5-drain.ts';
import { measureEndToEnd } from './goals/p4-end-to-end.ts';
import { measureIdleStart } from './goals/p6-idle-start.ts';
import { measureLogFollower, measureLogLines } from './goals/p9-run-logs.ts';
import { measureBatchStarts, measureSingleStarts } from './goals/p1-single-starts.ts';
import { HISTORY_TEMPLATE } from './goals/p12-history.ts';
import { measureGraphileDrain, measureGraphileLatency } from './peers/graphile-worker.ts';
import { measurePgBossDrain, measurePgBossEndToEnd } from './peers/pg-boss.ts';
import { withKeelson } from './ours/deployed.ts';
import type { BenchPostgres } from './harness/postgres.ts';
import type { Round } from './goal-rows.ts';

/** How long and how much; `--quick` makes all of it small. */
export type Sizes = { loadMs: number; tasks: number; samples: number; lines: number };

/** Concurrent callers of P4 and of its peer. */
const CALLERS = 100;

export type Step = { name: string; part: 'floors' | 'peers' | 'ours' | 'history'; measure(): Promise<Round> };

/**
 * The measurements of one round. What is held against each other stands side by side, because a shared machine is
 * another machine a minute later.
 */
export function listSteps(postgres: BenchPostgres, { loadMs, tasks, samples, lines }: Sizes): Step[] {
  const floors = (): string => postgres.url('floors');
  return [
    { name: 'F1', part: 'floors', measure: async () => ({ F1: await measureSingleInserts(floors(), loadMs) }) },
    {
      name: 'P1 P2 P3',
      part: 'ours',
      measure: () =>
        withKeelson(postgres, async (keelson, url) => {
          const { perSecond, p50Ms, p99Ms } = await measureSingleStarts(keelson, url, loadMs);
          const half = await measureSingleStarts(keelson, url, loadMs, perSecond / 2);
          const batches = await measureBatchStarts(keelson, url, loadMs);
          return { P1: perSecond, 'P2.p50': p50Ms, 'P2.p99': p99Ms, 'P2.half.p50': half.p50Ms, 'P2.half.p99': half.p99Ms, P3: batches };
        }),
    },
    { name: 'F4', part: 'floors', measure: async () => ({ F4: (await measureBareHttp(loadMs)).perSecond }) },
    { name: 'P12: P1', part: 'history', measure: () => withKeelson(postgres, async (keelson, url) => ({ 'P12.P1': (await measureSingleStarts(keelson, url, loadMs)).perSecond }), HISTORY_TEMPLATE) },
    { name: 'F2', part: 'floors', measure: async () => ({ F2: await measureBatchInserts(floors(), loadMs) }) },
    { name: 'F3', part: 'floors', measure: async () => ({ F3: await measureClaimComplete(floors(), tasks) }) },
    {
      name: 'P5 P6 P4 P9, P1 with a worker',
      part: 'ours',
      measure: () =>
        withKeelson(postgres, async (keelson, url) => {
          const round: Round = {};
          round['P5'] = await measureDrain(keelson, tasks);
          round['P6'] = await measureIdleStart(keelson, samples);
          round['P4'] = await measureEndToEnd(keelson, tasks, CALLERS);
          round['P9'] = await measureLogLines(keelson, lines);
          round['P9.follower'] = await measureLogFollower(keelson, samples);
          round['P1.worker'] = (await measureSingleStarts(keelson, url, loadMs)).perSecond;
          return round;
        }),
    },
    { name: 'F5', part: 'floors', measure: async () => ({ F5: await measureInsertLatency(floors(), samples * 2) }) },
    {
      name: 'P12: P5 P6',
      part: 'history',
      measure: () =>
        withKeelson(
          postgres,
          async (keelson) => {
            const drained = await measureDrain(keelson, tasks);
            return { 'P12.P5': drained, 'P12.P6': await measureIdleStart(keelson, samples) };
          },
          HISTORY_TEMPLATE,
        ),
    },
    {
      name: 'graphile-worker',
      part: 'peers',
      measure: async () => {
        const url = await postgres.createDatabase('graphile');
        return { graphileDrain: await measureGraphileDrain(url, tasks), graphileLatency: await measureGraphileLatency(url, samples) };
      },
    },
    {
      name: 'pg-boss',
      part: 'peers',
      measure: async () => {
        const { perSecond } = await measurePgBossEndToEnd(await postgres.createDatabase('pgboss'), tasks, CALLERS);
        return { pgBossEndToEnd: perSecond, pgBossDrain: await measurePgBossDrain(await postgres.createDatabase('pgboss'), tasks) };
      },
    },
  ];
}
