import { Pool } from "pg";
import { PgBoss } from "pg-boss";
import { answerMessages } from "../harness/child.ts";
import { PAYLOAD } from "../floors/insert-table.ts";
import { machineNowMs } from "../harness/statistics.ts";

/** What this process is asked to do; `url` is the database of the peer. */
export type PgBossCommand =
  | { do: "fill"; url: string; jobs: number }
  | { do: "send"; url: string; jobs: number; callers: number }
  | { do: "work"; url: string; jobs: number };

/** A process of the peer pg-boss, as an application would deploy it. */
const QUEUE = "noop";
const DATA = JSON.parse(PAYLOAD) as object;
let started: PgBoss | undefined;

answerMessages<PgBossCommand>(async (command) => {
  started ??= await start(command.url);
  switch (command.do) {
    case "fill":
      return fill(started, command.jobs);
    case "send":
      return send(started, command.jobs, command.callers);
    case "work":
      return work(started, command.url, command.jobs);
  }
});

/** Without supervision and schedules, which would only cost; without NOTIFY, which halves what it sends. */
async function start(url: string): Promise<PgBoss> {
  const boss = new PgBoss({ connectionString: url, max: 20, supervise: false, schedule: false });
  boss.on("error", (error) => {
    throw error;
  });
  await boss.start();
  return boss;
}

async function fill(boss: PgBoss, jobs: number): Promise<void> {
  await boss.createQueue(QUEUE);
  for (let left = jobs; left > 0; left -= 1000)
    await boss.insert(
      QUEUE,
      Array.from({ length: Math.min(left, 1000) }, () => ({ data: DATA })),
    );
}

/** Sends one by one from concurrent callers; answers when each has been acknowledged, with the time of the first call. */
async function send(boss: PgBoss, jobs: number, callers: number): Promise<{ calledAtMs: number }> {
  const calledAtMs = machineNowMs();
  let next = 0;
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (next < jobs) {
        next += 1;
        if ((await boss.send(QUEUE, DATA)) === null) throw new Error("pg-boss did not store a job");
      }
    }),
  );
  return { calledAtMs };
}

/** Works until so many jobs are completed in the database; answers when the first was taken and the last completed. */
async function work(
  boss: PgBoss,
  url: string,
  jobs: number,
): Promise<{ firstAtMs: number; lastAtMs: number }> {
  const pool = new Pool({ connectionString: url, max: 1 });
  const all = Promise.withResolvers<void>();
  let firstAtMs = 0;
  let handled = 0;
  await boss.work(
    QUEUE,
    { batchSize: 100, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 },
    async (batch) => {
      if (handled === 0) firstAtMs = machineNowMs();
      handled += batch.length;
      if (handled >= jobs) all.resolve();
    },
  );
  process.send?.("working");
  await all.promise;
  for (;;) {
    const { rows } = await pool.query<{ completed: number }>(
      `SELECT count(*)::int AS completed FROM pgboss.job WHERE name = $1 AND state = 'completed'`,
      [QUEUE],
    );
    if ((rows[0]?.completed ?? 0) >= jobs) break;
  }
  const lastAtMs = machineNowMs();
  await pool.end();
  return { firstAtMs, lastAtMs };
}
