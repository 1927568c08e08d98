import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { RunEvent } from "@keelson/sdk";
import { DURABLE_TASKS } from "./durable/tasks.ts";
import { startDurableSite, type DurableSite } from "./durable/site.ts";

const kindsOf = (events: readonly RunEvent[]): string[] => events.map(({ kind }) => kind);

/** By how long a wait is parked: each site is a server, an agent and a deployment. */
const sites = new Map<number, ReturnType<typeof startDurableSite>>();
const ends: (() => Promise<void>)[] = [];
after(() => Promise.all(ends.map((end) => end())));

function sharedSite(parkAfterMs: number): ReturnType<typeof startDurableSite> {
  const owner = {
    after: (end: () => Promise<void>) => void ends.push(end),
    signal: new AbortController().signal,
  };
  const site = sites.get(parkAfterMs) ?? startDurableSite(owner, DURABLE_TASKS, { parkAfterMs });
  sites.set(parkAfterMs, site);
  return site;
}

/** As long as the waiter of the tests is patient. */
const waitFor = { timeout: "60s" } as const;

async function completeByCallback(site: DurableSite, runId: string, data: unknown): Promise<void> {
  const { metadata } = await site.client.runs.get(runId);
  const response = await fetch(metadata["callback"] as string, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(data),
  });
  assert.equal(response.status, 200, await response.text());
}

test("a run parked in memory goes on in its process", async () => {
  const site = await sharedSite(30_000);
  const approve = await site.client.tasks.start("approve");
  await site.untilEvent(approve, "run.waiting");
  await completeByCallback(site, approve.id, "yes");
  const ended = await site.client.runs.wait(approve, waitFor);
  const output = ended.output as { decision: unknown; reserved: number; shipped: number };
  assert.deepEqual([output.decision, output.reserved], ["yes", output.shipped]);

  const nap = await site.client.runs.wait(await site.client.tasks.start("nap"), waitFor);
  assert.equal(nap.status, "succeeded", JSON.stringify(nap.failure));
  assert.ok((nap.output as number) >= 200);

  const race = await site.client.runs.wait(await site.client.tasks.start("race"), waitFor);
  assert.equal(race.output, "timer", JSON.stringify(race.failure));
});

test("a run calls others and has their outputs and failures, parked or suspended meanwhile", async () => {
  for (const parkAfterMs of [0, 30_000]) {
    const site = await sharedSite(parkAfterMs);
    const run = await site.client.tasks.start("parent");
    const ended = await site.client.runs.wait(run, waitFor);
    assert.equal(ended.status, "succeeded", JSON.stringify(ended.failure));
    assert.deepEqual(ended.output, { doubled: [2, 4, 6], failed: ["failed", "negative"] });
    const children = site.client.runs.list({ task: "child" });
    let count = 0;
    for await (const child of children) {
      count += 1;
      assert.equal(child.parentRunId, run.id);
    }
    assert.equal(count, 4);
  }
});

test("a retry keeps the steps that have completed", async () => {
  const site = await sharedSite(0);
  const run = await site.client.tasks.start("flaky");
  const ended = await site.client.runs.wait(run, waitFor);
  assert.equal(ended.status, "succeeded", JSON.stringify(ended.failure));
  assert.equal((ended.output as { attempt: number }).attempt, 2);
  const steps = (await site.eventsOf(run)).filter(({ kind }) => kind.startsWith("step."));
  const told = steps.map(({ kind, attributes }) => [kind, attributes["step"], attributes["position"]]);
  const [[, , first] = [], [, , second] = []] = told;
  assert.deepEqual(told, [
    ["step.completed", "first", first],
    ["step.failed", "second", second],
    ["step.completed", "second", second],
  ]);
  const { first: given } = ended.output as { first: string };
  const calls: unknown[] = [];
  for await (const { position, kind, name, value, attemptNumber } of site.client.runs.calls(run.id))
    calls.push([position, kind, name, value, attemptNumber]);
  assert.deepEqual(calls, [
    [first, "step", "first", given, 1],
    [second, "step", "second", null, 2],
  ]);
});

test("a cancelled run that waits ends at once, suspended or not", async () => {
  for (const [parkAfterMs, kind] of [
    [0, "run.suspended"],
    [30_000, "run.waiting"],
  ] as const) {
    const site = await sharedSite(parkAfterMs);
    const run = await site.client.tasks.start("sleeper");
    await site.untilEvent(run, kind);
    await site.client.runs.cancel(run.id);
    assert.equal((await site.client.runs.wait(run, waitFor)).status, "cancelled");
  }
});

test("code that does not fit the journal fails the run and says where", async () => {
  const site = await sharedSite(0);
  const drifter = await site.client.tasks.start("drifter");
  await site.untilEvent(drifter, "run.suspended");
  const { tokens } = (await site.server.call("GET", "/v1/tokens")).body as { tokens: { id: string }[] };
  await site.server.call("POST", `/v1/tokens/${tokens[0]?.id}/complete`, { body: { data: 1 } });
  const ended = await site.client.runs.wait(drifter, waitFor);
  assert.equal(ended.status, "failed");
  assert.equal(ended.failure?.kind, "nondeterministic_replay");
  assert.match(ended.failure?.message ?? "", /at position 1: the journal has step "at [0-9a-f-]+"/);
});

test("an actor receives input, answers and streams, over suspensions, until its session is closed", async () => {
  const site = await sharedSite(0);
  const started = await site.server.call("POST", "/v1/actors/talker/start", {
    body: { input: "hello", session: { external_id: "chat-1" } },
  });
  assert.equal(started.status, 201, started.text);
  const { session, run } = started.body as { session: { id: string }; run: { id: string } };
  await site.untilEvent(run, "run.suspended");
  const send = async (data: unknown): Promise<void> => {
    const answer = await site.server.call("POST", `/v1/sessions/${session.id}/inputs`, { body: { data } });
    assert.equal(answer.status, 201, answer.text);
  };
  await send("stream");
  const caller = await site.client.tasks.start("caller", { session: { externalId: "chat-1" } });
  const called = await site.client.runs.wait(caller, waitFor);
  assert.equal(called.status, "succeeded", JSON.stringify(called.failure));
  const closed = await site.server.call("POST", `/v1/sessions/${session.id}/close`, { body: {} });
  assert.equal(closed.status, 200, closed.text);
  const ended = await site.client.runs.wait(run.id, waitFor);
  assert.equal(ended.status, "succeeded", JSON.stringify(ended.failure));
  assert.deepEqual(ended.output, { received: 3, turn: 1, externalId: "chat-1" });
  const read = async (stream: string): Promise<unknown[]> => {
    const answer = await site.server.call("GET", `/v1/sessions/${session.id}/outputs?stream=${stream}`);
    return (answer.body as { records: { data: unknown }[] }).records.map(({ data }) => data);
  };
  assert.deepEqual(await read("output"), [
    { echo: "hello" },
    { echo: "stream" },
    "abc",
    { echo: "from a run" },
  ]);
  const [a, b, c, end] = await read("text");
  assert.deepEqual([a, b, c, (end as { status: string }).status], ["a", "b", "c", "complete"]);
});

// The last tests of their sites: they end the agent that all before have used.

test("with a run suspended and its agent gone, a provider's callback lets it go on at another agent", async () => {
  const site = await sharedSite(0);
  const run = await site.client.tasks.start("approve");
  await site.untilEvent(run, "run.suspended");
  await site.first.stop();
  await completeByCallback(site, run.id, { approved: true });
  await site.agent();
  const ended = await site.client.runs.wait(run, waitFor);
  assert.equal(ended.status, "succeeded", JSON.stringify(ended.failure));
  const output = ended.output as { decision: unknown; reserved: number; shipped: number };
  assert.deepEqual(output.decision, { approved: true });
  assert.notEqual(output.reserved, output.shipped);
  assert.equal(ended.attemptNumber, 1);
  assert.equal(ended.metadata["asked"], 1);
  const events = await site.eventsOf(run);
  assert.deepEqual(
    events.filter(({ kind }) => kind === "step.completed").map(({ message }) => message),
    ['Step "reserve" completed', 'Step "ship" completed'],
  );
  const kinds = kindsOf(events);
  for (const kind of ["wait.created", "run.waiting", "run.suspended", "wait.resolved", "run.resumed"])
    assert.ok(kinds.includes(kind), `${kind} in ${kinds.join(" ")}`);
});

test("runs go on over agents that are drained and replaced one after another", async () => {
  const site = await sharedSite(30_000);
  const starts = Array.from({ length: 6 }, () => site.client.tasks.start("march", { steps: 12 }));
  const runs = await Promise.all(starts);
  let current = site.first;
  for (let replaced = 0; replaced < 3; replaced += 1) {
    const next = await site.agent();
    await current.drain();
    current = next;
  }
  const used = new Set<number>();
  for (const run of runs) {
    const ended = await site.client.runs.wait(run, waitFor);
    assert.equal(ended.status, "succeeded", JSON.stringify(ended.failure));
    assert.equal(ended.attemptNumber, 1);
    for (const pid of ended.output as number[]) used.add(pid);
    const completed = (await site.eventsOf(run)).filter(({ kind }) => kind === "step.completed");
    assert.equal(completed.length, 12);
  }
  assert.ok(used.size > 4, `steps ran in ${used.size} processes`);
});

test("an answer that is stopped ends, and its turn goes on to the next", async () => {
  const { client } = await sharedSite(30_000);
  const { id, currentRunId } = await client.sessions.create({ actor: "writer", input: "one" });
  const session = client.sessions.open(id);
  for await (const _ of session.output("output", { messageEnds: true })) break;
  const [open] = (await session.messages({ status: "open" }).page()).items;
  assert.ok(open !== undefined);
  assert.deepEqual(await session.interrupt(open.id), { messageId: open.id, status: "interrupting" });
  await session.send("two");
  const { output, failure } = await client.runs.wait(currentRunId, waitFor);
  assert.deepEqual(
    output,
    [
      ["one", "It ", true],
      ["two", "It is so.", false],
    ],
    JSON.stringify(failure),
  );
  assert.deepEqual(await session.interrupt(open.id), { messageId: open.id, status: "ended" });
});
