// A lid that is closed, a server, a database or an agent that stands still: whoever was away takes nobody else for dead, and
// is taken for dead only where somebody else can go on. Nothing is lost that nobody else has taken: no attempt, no workspace,
// no command, no file.

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { sql } from "../../src/db/sql.ts";
import { until } from "../support/until.ts";
import { bundleOf } from "./support/bundle.ts";
import { startNetwork, type Network } from "./support/network.ts";
import { postgresOf, signalAll, treeOf } from "./support/process-trees.ts";
import { isLong } from "../support/seeded-random.ts";
import { createDeployment, promoteWhenReady, type ServerProcess } from "./support/site.ts";
import type { SpawnedProcess } from "./support/spawned-process.ts";
import { startWorkspaceSite, type WorkspaceSite } from "./support/workspace-site.ts";

const LEASE_MS = 6_000;
/** Each longer than a lease. */
const ABSENCES_MS = isLong() ? [20_000, 60_000, 150_000] : [LEASE_MS + 2_000];

const HOLD = `
  const { existsSync } = await import("node:fs");
  while (!existsSync(payload.go)) await tick(20);
  return "done";`;

let site: WorkspaceSite;
let agent: SpawnedProcess;
let network: Network;
before(async () => {
  site = await startWorkspaceSite({ leaseDuration: `${LEASE_MS / 1_000}s` });
  const [server] = site.servers;
  assert.ok(server);
  network = await startNetwork(server.url);
  agent = site.agent({ name: "agent 1", server, capacity: 8, env: { KEELSON_URL: network.url } });
  await agent.start();
  const tasks = [{ id: "hold" }, { id: "shared", execution: "shared" as const }];
  await promoteWhenReady(site, await createDeployment(site, bundleOf({ hold: HOLD, shared: HOLD }), tasks));
});
after(async () => {
  await site?.stop();
  await network?.close();
});

/** Once only: an attempt that fails ends the run. */
async function startRun(task: string, go: string): Promise<string> {
  const body = { payload: { go }, retry: { max_attempts: 1 } };
  const { status, body: run } = await site.call(site.url, "POST", `/v1/tasks/${task}/start`, { body });
  assert.equal(status, 201, JSON.stringify(run));
  await until("the run has begun", 20_000, async () => (await eventsOf(run.id)).includes("run.started"));
  return run.id as string;
}

async function eventsOf(run: string): Promise<string[]> {
  const { body } = await site.call(site.url, "GET", `/api/runs/${run}/events?limit=200`);
  return body.events.map(({ kind }: { kind: string }) => kind);
}

async function leaseEnd(run: string): Promise<number> {
  const [row] = await site.db.query<{ at: number | null }>(
    sql`SELECT lease_expires_at AS at FROM executions WHERE run_id = ${decodeId("run", run)}`,
  );
  return row?.at ?? 0;
}

type Absence = { begin(): void; end(): void };

const stopped = (processes: () => number[]): Absence => {
  let pids: number[] = [];
  return {
    begin: () => {
      pids = processes();
      signalAll(pids, "SIGSTOP");
    },
    end: () => signalAll(pids, "SIGCONT"),
  };
};

const absences: Record<string, Absence> = {
  "all processes are stopped": stopped(() => [
    ...site.servers.flatMap(({ pid }) => treeOf(pid)),
    ...treeOf(agent.pid),
    ...postgresOf(site),
  ]),
  "the server is stopped": stopped(() => treeOf((site.servers[0] as ServerProcess).pid)),
  "PostgreSQL is stopped": stopped(() => postgresOf(site)),
  "the agent is stopped": stopped(() => [agent.pid]),
  "the agent and its processes are stopped": stopped(() => treeOf(agent.pid)),
  "the network between server and agent is silent": {
    begin: () => network.silence(),
    end: () => network.heal(),
  },
};

for (const [what, absence] of Object.entries(absences))
  for (const absenceMs of ABSENCES_MS)
    test(`${what} for ${absenceMs} ms: no attempt, command or file is lost`, async () => {
      const go = path.join(site.open, `go ${what} ${absenceMs}`);
      const runs = await Promise.all(["hold", "shared"].map((task) => startRun(task, go)));
      const { id } = await site.create();
      const exec = await site.startExec(
        id,
        "echo precious > work; echo begun; while [ ! -e go ]; do sleep 0.05; done",
      );
      const { materialization } = await site.get(id);

      const begunAt = performance.now();
      absence.begin();
      try {
        await until(
          "they were away for longer than a lease",
          absenceMs,
          async () => performance.now() - begunAt > absenceMs,
        );
      } finally {
        absence.end();
      }
      const lapsed = await Promise.all(runs.map(leaseEnd));
      await until("all leases were renewed", 20_000, async () =>
        (await Promise.all(runs.map(leaseEnd))).every((end, at) => end > (lapsed[at] as number)),
      );
      await writeFile(go, "");
      await site.untilOver(await site.startExec(id, "touch go; echo gone"));

      for (const run of runs) {
        await until("the run has ended", 60_000, async () => {
          const { body } = await site.call(site.url, "GET", `/api/runs/${run}`);
          return body.finished_at !== null;
        });
        assert.deepEqual(await eventsOf(run), [
          ...["run.created", "run.queued", "run.leased", "run.started", "run.succeeded"],
        ]);
      }
      const { status, exit_code: exitCode } = await site.untilOver(exec);
      assert.deepEqual([status, exitCode], ["exited", 0]);
      const now = await site.get(id);
      assert.deepEqual([now.materialization.id, now.materialization.status], [materialization.id, "live"]);
      assert.equal(await site.read(id, "work"), "precious\n");
    });

test("who is really dead is given up once somebody else is there, and what it had goes on", async () => {
  const go = path.join(site.open, "go at last");
  const run = await startRun("hold", go);
  await agent.kill();
  await until("it is said that nobody hears its worker", 60_000, async () => {
    const { body } = await site.call(site.url, "GET", `/api/runs/${run}`);
    return body.status === "running" && body.status_reason?.kind === "lease_recovery";
  });
  await writeFile(go, "");
  await agent.start();
  await until("it has succeeded", 60_000, async () => (await eventsOf(run)).includes("run.succeeded"));
  assert.ok((await eventsOf(run)).includes("lease.lost"));
});
