import { Logger, makeWorkerUtils, run } from "graphile-worker";
import { Pool } from "pg";
import { answerMessages } from "../harness/child.ts";
import { PAYLOAD } from "../floors/insert-table.ts";
import { machineNowMs } from "../harness/statistics.ts";

/** What this process is asked to do; `url` is the database of the peer. */
export type GraphileCommand =
  | { do: "fill"; url: string; jobs: number }
  | { do: "drain"; url: string; jobs: number }
  | { do: "listen"; url: string }
  | { do: "add"; url: string };

/** A process of the peer graphile-worker, as an application would deploy it. */
const silent = new Logger(() => () => {});

answerMessages<GraphileCommand>((command) => {
  switch (command.do) {
    case "fill":
      return fill(command.url, command.jobs);
    case "drain":
      return drain(command.url, command.jobs);
    case "listen":
      return listen(command.url);
    case "add":
      return add(command.url);
  }
});

async function fill(url: string, jobs: number): Promise<void> {
  const utils = await makeWorkerUtils({ connectionString: url });
  await utils.migrate();
  const payload = JSON.parse(PAYLOAD) as object;
  for (let left = jobs; left > 0; left -= 1000) {
    await utils.addJobs(
      Array.from({ length: Math.min(left, 1000) }, () => ({ identifier: "noop", payload })),
    );
  }
  await utils.release();
}

/** From the first job taken until the last has left the table. The settings are those of its performance page. */
async function drain(url: string, jobs: number): Promise<{ jobsPerSecond: number }> {
  const pool = new Pool({ connectionString: url, max: 1 });
  const all = Promise.withResolvers<void>();
  let firstMs = 0;
  let handled = 0;
  const runner = await run({
    preset: {
      worker: {
        connectionString: url,
        concurrentJobs: 24,
        maxPoolSize: 25,
        localQueue: { size: 500 },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
        logger: silent,
      },
    },
    noHandleSignals: true,
    taskList: {
      noop: async () => {
        if (handled === 0) firstMs = machineNowMs();
        handled += 1;
        if (handled === jobs) all.resolve();
      },
    },
  });
  await all.promise;
  for (;;) {
    const { rows } = await pool.query<{ left: number }>(
      "SELECT count(*)::int AS left FROM graphile_worker._private_jobs",
    );
    if (rows[0]?.left === 0) break;
  }
  const lastMs = machineNowMs();
  await runner.stop();
  await pool.end();
  return { jobsPerSecond: (jobs * 1000) / (lastMs - firstMs) };
}

/** Works with its default settings (no local queue, which is for throughput) and reports when each handler runs. */
async function listen(url: string): Promise<"listening"> {
  await run({
    preset: { worker: { connectionString: url, concurrentJobs: 4, maxPoolSize: 10, logger: silent } },
    noHandleSignals: true,
    taskList: {
      noop: async () => {
        process.send?.({ runningAtMs: machineNowMs() });
      },
    },
  });
  return "listening";
}

let adder: Awaited<ReturnType<typeof makeWorkerUtils>> | undefined;

/** Adds one job and tells when the call was made. */
async function add(url: string): Promise<{ calledAtMs: number }> {
  adder ??= await makeWorkerUtils({ connectionString: url });
  const calledAtMs = machineNowMs();
  await adder.addJob("noop", JSON.parse(PAYLOAD) as object);
  return { calledAtMs };
}
