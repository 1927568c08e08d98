import { setTimeout as sleep } from "node:timers/promises";
import type { CreatedToken, Run, StartBatchResult } from "@keelson/contract";
import { cpuBetweenMs, readCpuMs } from "../harness/process-tree.ts";
import { runHttpLoad } from "../harness/http-load.ts";
import { machineNowMs, percentile } from "../harness/statistics.ts";
import { waitFor, waitForEnd, waitForSucceeded, type Api } from "../ours/api.ts";
import type { Keelson } from "../ours/keelson.ts";

const CALLERS = 64;
const COMPLETIONS_PER_SECOND = 50;
const LIMIT_MS = 300_000;

export type WaitFigures = {
  /** Runs of the default mode that come to their wait, a second. */
  reached: number;
  /** Percent of a core, of server, PostgreSQL and agent, while all wait. */
  idleCpu: number;
  /** Milliseconds from a completion to the code behind the wait, p99, at 50 a second. */
  wokenP99: number;
  /** Completions a second by 64 callers, of all that still wait. */
  completed: number;
  /** Milliseconds from a start to its code, p99, while those go on. */
  startedP99: number;
};

export type WaitSizes = { byDefault: number; shared: number; samples: number; settleMs: number };

/** P19 and the completions of P20. Expects an agent at its default capacity. */
export async function measureWaits(
  keelson: Keelson,
  agent: number,
  { byDefault, shared, samples, settleMs }: WaitSizes,
): Promise<WaitFigures> {
  const { api } = keelson;
  const first = await createTokens(api, byDefault);
  const from = performance.now();
  await startWaits(api, "waits", first);
  await waitForWaiting(api, byDefault);
  const reached = (byDefault * 1_000) / (performance.now() - from);

  const others = await createTokens(api, shared);
  const runs = await startWaits(api, "waits-shared", others);
  await waitForWaiting(api, byDefault + shared);
  await sleep(settleMs);
  const read = () => [readCpuMs(keelson.server.pid), readCpuMs(agent)] as const;
  const [before, idleFrom] = [read(), performance.now()];
  await sleep(settleMs);
  const after = read();
  const idleMs = before.reduce(
    (sum, part, index) => sum + cpuBetweenMs(part, after[index] ?? new Map<number, number>()),
    0,
  );
  const idleCpu = (100 * idleMs) / (performance.now() - idleFrom);

  const wokenP99 = await wake(api, runs.slice(0, samples), others.slice(0, samples));
  const rest = [...first, ...others.slice(samples)];
  const { completed, startedP99 } = await completeAll(keelson, rest, samples + rest.length);
  return { reached, idleCpu, wokenP99, completed, startedP99 };
}

async function createTokens(api: Api, count: number): Promise<string[]> {
  const ids: string[] = [];
  await byCallers(count, async () => {
    ids.push((await api.call<CreatedToken>("POST", "/v1/tokens", { timeout: "1h" })).id);
  });
  return ids;
}

async function startWaits(api: Api, task: string, tokens: readonly string[]): Promise<string[]> {
  const ids: string[] = [];
  for (let from = 0; from < tokens.length; from += 500) {
    const starts = tokens.slice(from, from + 500).map((token) => ({ task, payload: { token } }));
    const { results } = await api.call<StartBatchResult>("POST", "/v1/tasks/start-batch", { starts });
    ids.push(...results.map(({ run }) => (run as Run).id));
  }
  return ids;
}

const waitForWaiting = (api: Api, expected: number): Promise<void> =>
  waitFor(`${expected} runs to wait`, LIMIT_MS, async () => (await api.counts()).waiting >= expected);

const complete = (api: Api, token: string): Promise<unknown> =>
  api.call("POST", `/v1/tokens/${token}/complete`, { data: null });

/** One after the other at an even rate, whether the one before is answered or not. */
async function wake(api: Api, runs: readonly string[], tokens: readonly string[]): Promise<number> {
  const from = machineNowMs();
  const latencies = await Promise.all(
    tokens.map(async (token, index) => {
      const dueAtMs = from + (index * 1_000) / COMPLETIONS_PER_SECOND;
      await sleep(Math.max(0, dueAtMs - machineNowMs()));
      const calledAtMs = machineNowMs();
      await complete(api, token);
      return { run: runs[index] as string, calledAtMs };
    }),
  );
  return percentile(await readLatencies(api, latencies), 0.99);
}

/** All at once, with a fresh start ten times a second until the last of them has gone on. */
async function completeAll(
  { api, apiKey, port }: Keelson,
  tokens: readonly string[],
  expected: number,
): Promise<{ completed: number; startedP99: number }> {
  const progress = { isOver: false };
  const starts: { run: string; calledAtMs: number }[] = [];
  const starting = (async () => {
    while (!progress.isOver) {
      const calledAtMs = machineNowMs();
      starts.push({ run: (await api.start("tell-time-shared", null)).id, calledAtMs });
      await sleep(100);
    }
  })();
  const { perSecond: completed } = await runHttpLoad({
    port,
    path: tokens.map((token) => `/v1/tokens/${token}/complete`),
    headers: { authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ data: null }),
    connections: CALLERS,
    durationMs: LIMIT_MS,
  });
  await waitForSucceeded(api, expected, LIMIT_MS);
  progress.isOver = true;
  await starting;
  return { completed, startedP99: percentile(await readLatencies(api, starts), 0.99) };
}

async function readLatencies(
  api: Api,
  calls: readonly { run: string; calledAtMs: number }[],
): Promise<number[]> {
  const latencies: number[] = [];
  for (const { run, calledAtMs } of calls) {
    const { output } = await waitForEnd(api, run, LIMIT_MS);
    latencies.push(Number((output as { runningAtNs: string }).runningAtNs) / 1e6 - calledAtMs);
  }
  return latencies;
}

async function byCallers(count: number, call: () => Promise<void>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: CALLERS }, async () => {
      while (next < count) {
        next += 1;
        await call();
      }
    }),
  );
}
