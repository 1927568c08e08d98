// A machine that does something else now and then, as a container with a limit of processor time has it all day: what is
// valid is taken, and no attempt is lost, whoever is paused and whenever the pauses fall.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { letPass, patience, until } from "../support/until.ts";
import { findAgentProcesses } from "./support/agent-processes.ts";
import { bundleOf } from "./support/bundle.ts";
import { postgresOf, signalAll } from "./support/process-trees.ts";
import { isLong } from "../support/seeded-random.ts";
import {
  createDeployment,
  promoteWhenReady,
  startSite,
  type ServerProcess,
  type Site,
  type TaskDeclaration,
} from "./support/site.ts";
import type { SpawnedProcess } from "./support/spawned-process.ts";

const PAUSES = isLong() ? 400 : 12;
const PAUSE_MS = 150;
/** With the pauses they have a fifth of a processor. */
const BETWEEN_MS = 37;
/** Each is imported by a process of its own, which takes longer than anything else here. */
const MAX_DEPLOYMENTS = PAUSES / 4;

/** Its check is watched: nobody can say in advance how long it takes. */
const WATCHED = { type: "object", properties: { items: { type: "array", uniqueItems: true } } };
const TASKS: TaskDeclaration[] = [
  { id: "alone", payload_schema: WATCHED },
  { id: "together", execution: "shared", payload_schema: WATCHED },
];
const body = {
  payload: { items: Array.from({ length: 500 }, (_, index) => ({ index })) },
  retry: { max_attempts: 1 },
};
const bundle = bundleOf({ alone: "return 1;", together: "await tick(5); return 1;" });

let site: Site;
let server: ServerProcess;
let agent: SpawnedProcess;
before(async () => {
  site = await startSite({ servers: 1, leaseDuration: "15s" });
  server = site.servers[0] as ServerProcess;
  agent = site.agent({ name: "agent 1", server, capacity: 4, env: findAgentProcesses(site).env });
  await agent.start();
  await promoteWhenReady(site, await createDeployment(site, bundle, TASKS));
});
after(() => site?.stop());

async function pause(processes: () => readonly number[]): Promise<void> {
  for (let time = 0; time < PAUSES; time += 1) {
    const paused = processes();
    signalAll(paused, "SIGSTOP");
    await letPass(PAUSE_MS, "the processes have no processor");
    signalAll(paused, "SIGCONT");
    await letPass(BETWEEN_MS, "the processes have their share of a processor");
  }
}

async function start(task: string): Promise<string> {
  const path = `/v1/tasks/${task}/start`;
  const { status, body: told } = await site.call(server.url, "POST", path, { body, timeoutMs: patience() });
  assert.equal(status, 201, JSON.stringify(told));
  return told.id as string;
}

const read = async (path: string) => (await site.call(server.url, "GET", path)).body;

const parties: Record<string, () => readonly number[]> = {
  "the server": () => [server.pid],
  PostgreSQL: () => postgresOf(site),
  "the agent": () => [agent.pid],
  "the processes of runs": () => findAgentProcesses(site).hosts(),
};

for (const [who, processes] of Object.entries(parties))
  test(`starts and deployments are taken, and runs succeed at once, while ${who} has a fifth of a processor`, async () => {
    const over = new AbortController();
    const pausing = pause(processes).finally(() => over.abort());
    const runs: string[] = [];
    const deployments: string[] = [];
    const starting = TASKS.map(async ({ id }) => {
      while (!over.signal.aborted) runs.push(await start(id));
    });
    // It asserts that the answer is 201.
    while (!over.signal.aborted && deployments.length < MAX_DEPLOYMENTS)
      deployments.push(await createDeployment(site, bundle, TASKS));
    await Promise.all([pausing, ...starting]);
    for (const id of runs) {
      await until(
        "the run has ended",
        60_000,
        async () => (await read(`/v1/runs/${id}`)).finished_at !== null,
      );
      const { status, attempt_number: attempt, failure } = await read(`/v1/runs/${id}`);
      assert.deepEqual([status, attempt], ["succeeded", 1], JSON.stringify(failure));
    }
    for (const id of deployments)
      await until("the deployment is checked", 60_000, async () => {
        const { status, error } = await read(`/v1/deployments/${id}`);
        assert.notEqual(status, "failed", JSON.stringify(error));
        return status === "ready";
      });
    console.log(
      `${PAUSES} pauses of ${PAUSE_MS} ms of ${who} · ${runs.length} runs and ${deployments.length} deployments, all well`,
    );
  });
