// A command that prints far more than anybody reads.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import { isLong } from "../support/seeded-random.ts";
import { letPass } from "../support/until.ts";
import { startWorkspaceSite, type WorkspaceSite } from "./support/workspace-site.ts";

let site: WorkspaceSite;
before(async () => (site = await startWorkspaceSite({ leaseDuration: "60s" })));
after(() => site?.stop());

const MIB = 1024 * 1024;
const OUTPUT_MIB = isLong() ? 600 : 40;
/** What the long form holds on to would be twice this; what a collector has not come to yet is below it. */
const MAX_GROWTH_BYTES = 280 * MIB;

async function memoryOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024;
}

test(
  "output far beyond what is kept leaves memory flat, and its end is right",
  { timeout: 300_000 },
  async (t) => {
    const agent = await site.startAgent();
    const { id } = await site.create();
    await site.exec(id, "true");
    const pids = { server: site.servers[0]!.pid, agent: agent.pid };
    const before = { server: await memoryOf(pids.server), agent: await memoryOf(pids.agent) };
    const growth = { server: 0, agent: 0 };
    const started = performance.now();
    const exec = await site.startExec(
      id,
      `echo first; yes "$(printf '%01023d' 0)" | head -n ${OUTPUT_MIB * 1024}; echo the last line; exit 5`,
    );
    const { port, hostname } = new URL(site.url);
    const stalled = connect(Number(port), hostname);
    stalled.write(
      `GET ${exec}/stdout?follow=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${site.credentials.api_key}\r\n\r\n`,
    );
    // Not a byte of the answer is ever read.
    stalled.pause();
    let ended = await site.process(exec);
    while (ended.finished_at === null) {
      for (const name of ["server", "agent"] as const)
        growth[name] = Math.max(growth[name], (await memoryOf(pids[name])) - before[name]);
      await letPass(100, "the use of memory is sampled while the command runs");
      ended = await site.process(exec);
    }
    stalled.destroy();
    const seconds = (performance.now() - started) / 1000;
    const shown = (bytes: number): string => `${Math.round(bytes / MIB)} MiB`;
    t.diagnostic(
      `${OUTPUT_MIB} MiB in ${seconds.toFixed(1)} s; server +${shown(growth.server)}, agent +${shown(growth.agent)}`,
    );
    const bytes = "first\n".length + OUTPUT_MIB * MIB + "the last line\n".length;
    assert.deepEqual([ended.status, ended.exit_code, ended.stdout.bytes], ["exited", 5, bytes]);
    assert.ok(Number(ended.stdout.earliest_cursor) > 0);
    assert.match(await site.output(`${exec}/stdout?cursor=${bytes - 100}`), /0\nthe last line\n$/);
    assert.ok(growth.server < MAX_GROWTH_BYTES, `the server grew by ${shown(growth.server)}`);
    assert.ok(growth.agent < MAX_GROWTH_BYTES, `the agent grew by ${shown(growth.agent)}`);
  },
);
