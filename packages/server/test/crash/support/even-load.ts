// Runs that are started at an even pace: how soon their code runs, and what each costs PostgreSQL.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { letPass, until } from "../../support/until.ts";
import type { ServerProcess, Site } from "./site.ts";

const RUNS_A_SECOND = 116;

/** To be deployed: `look` tells when its code ran. */
export const LOOK = `
import { task } from "@keelson/sdk";

export const look = task({ id: "look", execution: "shared", run: () => Date.now() });
`;

const TICKS_A_SECOND = 100;

/**
 * Milliseconds of processor of PostgreSQL. With those of its processes that have ended, unless a session is left out, which
 * may end meanwhile.
 */
export function postgresMs(site: Site, without: number | null): number {
  const postmaster = site.postgres.pid;
  let ticks = 0;
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    let stat: string;
    try {
      stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    } catch {
      continue;
    }
    const fields = stat
      .slice(stat.lastIndexOf(")") + 2)
      .split(" ")
      .map(Number);
    if (fields[1] === postmaster && Number(pid) !== without)
      ticks += (fields[11] as number) + (fields[12] as number);
    if (Number(pid) === postmaster)
      ticks += fields.slice(11, without === null ? 15 : 13).reduce((sum, value) => sum + value, 0);
  }
  return (ticks * 1_000) / TICKS_A_SECOND;
}

export type Seen = { p50: number; p99: number; cpuMs: number; runs: number };

/**
 * Starts runs at an even pace.
 *
 * @param without the process of a session whose work is not counted.
 * @returns how long it took until their code ran, and PostgreSQL's work for each of them.
 */
export async function watchLoad(
  site: Site,
  server: ServerProcess,
  ms: number,
  without: number | null = null,
): Promise<Seen> {
  const started: { id: string; at: number }[] = [];
  const cpuBefore = postgresMs(site, without);
  const begun = performance.now();
  const calls: Promise<void>[] = [];
  while (performance.now() - begun < ms) {
    const due = ((performance.now() - begun) / 1_000) * RUNS_A_SECOND;
    for (; calls.length < due;) {
      const at = Date.now();
      calls.push(
        site.call(server.url, "POST", "/v1/tasks/look/start", { body: {} }).then(({ status, body }) => {
          assert.equal(status, 201);
          started.push({ id: body.id, at });
        }),
      );
    }
    await letPass(2, "starts come at an even pace");
  }
  await Promise.all(calls);
  const cpuMs = (postgresMs(site, without) - cpuBefore) / started.length;
  const waits: number[] = [];
  for (const { id, at } of started.filter((_, index) => index % 5 === 0)) {
    let output: unknown;
    await until("the run has ended", 60_000, async () => {
      ({ output } = (await site.call(server.url, "GET", `/v1/runs/${id}`)).body);
      return typeof output === "number";
    });
    waits.push((output as number) - at);
  }
  waits.sort((a, b) => a - b);
  const at = (share: number): number => waits[Math.floor(waits.length * share)] as number;
  return { p50: at(0.5), p99: at(0.99), cpuMs, runs: started.length };
}

export const shown = ({ p50, p99, cpuMs, runs }: Seen): string =>
  `p50 ${p50} ms, p99 ${p99} ms, PostgreSQL ${cpuMs.toFixed(2)} ms a run, ${runs} runs`;
