// A worker that lost its lease without knowing: nothing it says afterwards has an effect.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { sql } from "../../src/db/sql.ts";
import { bundleOf } from "./support/bundle.ts";
import { enrollRawWorker, type Lease } from "./support/raw-worker.ts";
import {
  createDeployment,
  promoteWhenReady,
  startSite,
  type ServerProcess,
  type Site,
} from "./support/site.ts";
import { until } from "../support/until.ts";
import { isAlive } from "../../src/embedded-postgres/postmaster-pid.ts";

let site: Site;
let url: string;
before(async () => {
  site = await startSite({ servers: 1, leaseDuration: "6s", hasWitness: true });
  ({ url } = site.servers[0] as ServerProcess);
});
after(() => site?.stop());

/** The first attempt says its process id and talks on for ever; the second takes three seconds. */
const HOLD = `
  console.log("attempt " + input.run.attempt_number + " in process " + process.pid);
  if (input.run.attempt_number === 1) for (let n = 0; n < 1_200; n++) { console.log("tick " + n); await tick(50); }
  await tick(3_000);
  return { attempt: input.run.attempt_number };`;

async function start(task: string): Promise<string> {
  const answer = await site.call(url, "POST", `/v1/tasks/${task}/start`, {
    body: { retry: { max_attempts: 3 } },
  });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body.id as string;
}

async function readLogs(runId: string): Promise<{ attempt: number; text: string }[]> {
  const rows = await site.db.query<{ attempt: number; data: Buffer }>(sql`
    SELECT attempt_number AS attempt, data FROM run_logs WHERE run_id = ${decodeId("run", runId)} ORDER BY sequence`);
  return rows.map(({ attempt, data }) => ({ attempt, text: data.toString() }));
}

type Event = { kind: string; attempt_number: number | null };
const readEvents = async (runId: string): Promise<Event[]> =>
  (await site.call(url, "GET", `/api/runs/${runId}/events?limit=200`)).body.events as Event[];
const kindsOf = async (runId: string): Promise<string[]> => (await readEvents(runId)).map(({ kind }) => kind);

const isLeasedAgain = (kinds: string[]): boolean =>
  kinds.filter((kind) => kind === "run.leased").length === 2;

test("an agent stopped past its lease writes nothing when it goes on, and ends its process", async () => {
  const server = site.servers[0] as ServerProcess;
  const stopped = site.agent({ name: "agent 1", server, capacity: 1 });
  await stopped.start();
  await promoteWhenReady(site, await createDeployment(site, bundleOf({ hold: HOLD }), [{ id: "hold" }]));
  const runId = await start("hold");
  await until("the first attempt talks", 10_000, async () => (await readLogs(runId)).length > 2);
  const pid = Number(/process (\d+)/.exec((await readLogs(runId))[0]?.text ?? "")?.[1]);
  assert.ok(isAlive(pid));

  const stoppedAt = performance.now();
  stopped.signal("SIGSTOP");
  const other = site.agent({ name: "agent 2", server, capacity: 1 });
  await other.start();
  await until("the run is leased again", 15_000, async () => isLeasedAgain(await kindsOf(runId)));
  const leasedAgainMs = performance.now() - stoppedAt;
  await until("the second attempt talks", 10_000, async () =>
    (await readLogs(runId)).some(({ attempt }) => attempt === 2),
  );
  const saidByFirst = (await readLogs(runId)).filter(({ attempt }) => attempt === 1).length;

  // While the second attempt runs: what the first has not sent yet is sent now.
  stopped.signal("SIGCONT");
  await until("the first attempt's process has ended", 10_000, async () => !isAlive(pid));
  const { body } = await waitForEnd(runId);

  assert.deepEqual([body.status, body.attempt_number, body.output], ["succeeded", 2, { attempt: 2 }]);
  const logs = await readLogs(runId);
  const written = logs.filter(({ attempt }) => attempt === 1).length - saidByFirst;
  const events = await readEvents(runId);
  assert.deepEqual(
    events.map(({ kind }) => kind),
    [
      "run.created",
      "run.queued",
      "run.leased",
      "run.started",
      "lease.lost",
      "run.queued",
      "run.leased",
      "run.started",
      "run.succeeded",
    ],
  );
  console.log(
    `leased again ${Math.round(leasedAgainMs)} ms after SIGSTOP · writes accepted of the expired lease: ${written}`,
  );
  assert.equal(written, 0);

  // It is a worker like before: with the other gone it takes the next run.
  await other.kill();
  const next = await start("hold");
  await until("the agent that was stopped takes a run", 10_000, async () =>
    (await kindsOf(next)).includes("run.started"),
  );
  await stopped.kill();
});

async function waitForEnd(runId: string): Promise<Awaited<ReturnType<Site["call"]>>> {
  await until(
    "the run has ended",
    15_000,
    async () => (await site.call(url, "GET", `/api/runs/${runId}`)).body.finished_at !== null,
  );
  return site.call(url, "GET", `/api/runs/${runId}`);
}

/** Every operation that a lease can be used for. */
const everyWrite = (sequence: number, at: string) =>
  [
    ["logs", { sequence, at, chunks: [{ stream: "stdout", data: "c3RhbGU=", at }] }],
    ["events", { sequence, at, events: [{ kind: "step.completed", message: "stale", at }] }],
    ["metadata", { sequence, at, changes: [{ op: "set", key: "stale", value: true }] }],
    ["release", { sequence, at, outcome: "succeeded", output: "stale" }],
    [
      "release",
      {
        sequence,
        at,
        outcome: "failed",
        failure: { kind: "application_error", message: "stale", retryable: false },
      },
    ],
    ["start", { sequence, at }],
  ] as const;

test("every kind of write under a superseded lease is refused whole", async () => {
  const first = await enrollRawWorker(site, site.servers[0] as ServerProcess, "first");
  const second = await enrollRawWorker(site, site.servers[0] as ServerProcess, "second");
  const runId = await start("hold");
  const [stale] = await leaseOf(first, runId);
  assert.ok(stale);
  const at = new Date().toISOString();
  assert.equal((await first.post("executions/start", { ...stale, sequence: 1, at })).status, 200);
  await until("the lease is lost", 15_000, async () => (await kindsOf(runId)).includes("lease.lost"));

  const tryAll = async (when: string): Promise<void> => {
    const before = await readAll(runId);
    for (const [route, fields] of everyWrite(2, at)) {
      const answer = await first.post(`executions/${route}`, { ...stale, ...fields });
      assert.deepEqual([answer.status, answer.body.error?.code], [409, "lease_lost"], `${route} ${when}`);
    }
    const operations = everyWrite(2, at).map(([kind, fields]) => ({ kind, ...stale, ...fields }));
    const reported = await first.post("executions/report", { operations });
    assert.deepEqual(
      new Set((reported.body.results as { status: number }[]).map(({ status }) => status)),
      new Set([409]),
      when,
    );
    const renewed = await first.post("executions/renew", { leases: [stale] });
    assert.deepEqual([renewed.body.renewed, renewed.body.lost], [[], [stale.lease_id]], when);
    assert.deepEqual(await readAll(runId), before, `nothing has changed ${when}`);
  };

  await tryAll("while the run waits for another worker");
  const [fresh] = await leaseOf(second, runId);
  assert.ok(fresh);
  await tryAll("while another worker has the run");
  // The other's lease under the first one's name, and an epoch of the future.
  const forged = await first.post("executions/logs", {
    ...fresh,
    sequence: 1,
    at,
    chunks: [{ stream: "stdout", data: "c3RhbGU=", at }],
  });
  assert.deepEqual([forged.status, forged.body.error?.code], [409, "lease_lost"]);
  const ahead = await first.post("executions/start", { ...stale, epoch: stale.epoch + 1, sequence: 1, at });
  assert.deepEqual([ahead.status, ahead.body.error?.code], [409, "lease_lost"]);
  assert.equal(
    (
      await second.post("executions/release", {
        ...fresh,
        sequence: 1,
        at,
        outcome: "succeeded",
        output: "fresh",
      })
    ).status,
    200,
  );
  await tryAll("after the end");
  const { body } = await site.call(url, "GET", `/api/runs/${runId}`);
  assert.deepEqual([body.status, body.output, body.metadata], ["succeeded", "fresh", {}]);
});

async function leaseOf(worker: Awaited<ReturnType<typeof enrollRawWorker>>, runId: string) {
  let own: Lease["fields"][] = [];
  await until("the run is leased", 15_000, async () => {
    const leases = await worker.lease(100, "1s");
    own = leases.filter((lease) => lease.runId === runId).map(({ fields }) => fields);
    return own.length > 0;
  });
  return own;
}

/** Everything of a run that a worker's write could change. */
async function readAll(runId: string): Promise<unknown> {
  const id = decodeId("run", runId);
  const [live] = await site.db.query(sql`
    SELECT status, epoch, lease_id, worker_id, attempt_number, applied_sequence, event_sequence, log_sequence, metadata, lease_expires_at
    FROM executions WHERE run_id = ${id}`);
  const [result] = await site.db.query(sql`SELECT * FROM run_results WHERE run_id = ${id}`);
  return { live, result, logs: await readLogs(runId), events: await readEvents(runId) };
}
