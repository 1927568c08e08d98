// The network between clients and the server falls silent: no byte arrives and no connection is reset. Whoever waits goes on
// waiting, and when the network is back what was asked is answered, once.

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import { Client } from "../../../sdk/src/client.ts";
import { until } from "../support/until.ts";
import { isLong } from "../support/seeded-random.ts";
import { bundleOf } from "./support/bundle.ts";
import { startNetwork, type Network } from "./support/network.ts";
import {
  createDeployment,
  promoteWhenReady,
  startSite,
  type ServerProcess,
  type Site,
} from "./support/site.ts";

const SILENCE_MS = isLong() ? 30_000 : 3_000;
/** How long after it everybody has been answered. Only the long form measures it. */
const BACK_MS = 5_000;
const CALLERS = 8;

const HOLD = `
  const { existsSync } = await import("node:fs");
  while (!existsSync(payload.go)) await tick(20);
  return "done";`;

let site: Site;
let network: Network;
let far: Client;
/** At the server itself, past the network. */
let near: Client;
before(async () => {
  site = await startSite({ servers: 1, leaseDuration: "15s" });
  const [server] = site.servers as [ServerProcess];
  await site.agent({ name: "agent 1", server, capacity: 8 }).start();
  const tasks = [{ id: "hold" }, { id: "quick", execution: "shared" as const }];
  const bundle = bundleOf({ hold: HOLD, quick: "return payload;" });
  await promoteWhenReady(site, await createDeployment(site, bundle, tasks));
  network = await startNetwork(server.url);
  const apiKey = site.credentials.api_key;
  far = new Client({ url: network.url, apiKey });
  near = new Client({ url: server.url, apiKey });
});
after(async () => {
  await site?.stop();
  await network?.close();
});

type Work = { readonly counts: readonly number[]; end(): Promise<void> };

/** Each does the same over and over, as a program does that has more to do. */
function keepAt(callers: number, once: (caller: number, time: number) => Promise<void>): Work {
  const counts = Array.from({ length: callers }, () => 0);
  const over = new AbortController();
  const loops = Promise.all(
    counts.map(async (_, caller) => {
      for (let time = 0; !over.signal.aborted; time += 1) {
        await once(caller, time);
        counts[caller] = time + 1;
      }
    }),
  );
  // What one of them meets is told at the end.
  loops.catch(() => undefined);
  return {
    counts,
    end: async () => {
      over.abort();
      await loops;
    },
  };
}

type Held = { readonly id: string; letGo(): Promise<void> };

async function holdRun(name: string): Promise<Held> {
  const go = path.join(site.open, name);
  const { id } = await near.tasks.start("hold", { go }, { retry: { maxAttempts: 1 } });
  return { id, letGo: () => writeFile(go, "") };
}

type Talk = {
  /** What a follower on the other side of the network has read. */
  readonly read: readonly number[];
  /** Records are numbers from 0. */
  readonly appending: Work;
  appended(): number;
  end(): Promise<void>;
};

/** A session into which records are written at the server itself, and which is followed from far. */
async function startTalk(): Promise<Talk> {
  const go = path.join(site.open, "talk");
  const { id } = await near.sessions.create({ task: "hold", payload: { go } });
  const read: number[] = [];
  const followed = (async (): Promise<void> => {
    for await (const { data } of far.sessions.open(id).output()) read.push(data as number);
  })();
  followed.catch(() => undefined);
  const appending = keepAt(1, async (_, time) => {
    await near.sessions.append(id, time, { idempotencyKey: `record ${time}` });
  });
  return {
    read,
    appending,
    appended: () => appending.counts[0] ?? 0,
    end: async () => {
      await appending.end();
      await near.sessions.cancel(id);
      await followed;
    },
  };
}

/** Silence for a while, in which the server and what is near it go on. */
async function beSilent(work: Work, meanwhile: () => Promise<void>): Promise<void> {
  network.silence();
  const silentAt = performance.now();
  await meanwhile();
  const then = [...work.counts];
  await until(
    "it was silent for long enough",
    SILENCE_MS,
    async () => performance.now() - silentAt > SILENCE_MS,
  );
  assert.ok(work.counts.every((count, at) => count > (then[at] as number)));
  network.heal();
}

test(`clients that hear nothing for ${SILENCE_MS} ms are answered after it, and nothing is lost or done twice`, async () => {
  const [during, later] = [await holdRun("during"), await holdRun("later")];
  const waits = [far.runs.wait(during.id), far.runs.wait(later.id)] as const;
  const talk = await startTalk();
  const runOf = new Map<string, string>();
  const starting = keepAt(CALLERS, async (caller, time) => {
    const key = `${caller} ${time}`;
    const run = await far.tasks.start("quick", { key }, { idempotencyKey: key });
    runOf.set(key, run.id);
    assert.equal((await far.runs.wait(run)).status, "succeeded");
  });
  const goOn = (counts: readonly number[]) =>
    starting.counts.every((count, at) => count > (counts[at] ?? 0) + 1);
  await until("all are at it", 20_000, async () => goOn([]) && talk.read.length > 2);

  const answered = runOf.size;
  await beSilent(talk.appending, during.letGo);
  assert.ok(runOf.size <= answered + CALLERS && talk.read.length < talk.appended());
  const [healedAt, counts, records] = [performance.now(), [...starting.counts], talk.appended()];
  await until("all were answered", 20_000, async () => goOn(counts) && talk.read.length >= records);
  assert.equal((await waits[0]).status, "succeeded");
  const backMs = Math.round(performance.now() - healedAt);

  await starting.end();
  await later.letGo();
  assert.equal((await waits[1]).status, "succeeded");
  await talk.end();
  assert.deepEqual(talk.read, [...Array(talk.appended()).keys()]);
  for (const [key, id] of runOf)
    assert.equal((await near.tasks.start("quick", { key }, { idempotencyKey: key })).id, id);
  let runs = 0;
  for await (const { id } of near.runs.list({ task: "quick", limit: 200 })) runs += Number(id !== "");
  assert.equal(runs, runOf.size);
  console.log(
    `${runOf.size} starts, ${talk.read.length} records, a silence of ${SILENCE_MS} ms; all answered ${backMs} ms after it`,
  );
  if (isLong()) assert.ok(backMs <= BACK_MS, `all were answered after ${backMs} ms`);
});
