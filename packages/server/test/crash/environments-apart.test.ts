// R11: runs of two environments of one bundle, on warm processes of one and of two agents, before and after their secrets are
// rotated. Each run leaves everything it can, and lists everything that it finds.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, test } from "node:test";
import { bundleSource } from "../../../agent/test/support/sdk-bundle.ts";
import { insertKey } from "./support/insert-key.ts";
import { LEAVE_TRACES } from "./support/leave-traces.ts";
import {
  createDeployment,
  promoteWhenReady,
  startSite,
  type ServerProcess,
  type Site,
} from "./support/site.ts";
import { isLong } from "../support/seeded-random.ts";
import { until } from "../support/until.ts";
import type { SpawnedProcess } from "./support/spawned-process.ts";

const MODES = ["exclusive", "shared"] as const;
const CAPACITY = isLong() ? 4 : 2;
/** More than an agent's slots, so that warm processes are used again. */
const RUNS = isLong() ? 6 : 3;
const ENOUGH_KEPT = isLong() ? 50 : 20;
const SETTLE_MS = 60_000;
/** A heartbeat comes every third of a lease. */
const LEASE_DURATION = "6s";
const HEARTBEAT_MS = 2_000;

type Mode = (typeof MODES)[number];
type Place = { name: string; key: string; environmentId: string; secretId: string; version: number };
type Found = {
  id: string;
  pid: number;
  secret: string;
  client: string;
  earlier: string[];
  seen: string[];
  /** By each client of the run's code. */
  acts: { run: string; environment: string; reads: string[] }[];
  /** A run that it started. */
  started: string;
  /** Its own credential, and all that it found. */
  own: string;
  tokens: string[];
  /** The answers to credentials of earlier runs of its process. */
  kept: (number | "refused" | "taken")[];
};

let site: Site;
let agents: SpawnedProcess[];
let places: [Place, Place];
before(async () => {
  site = await startSite({ servers: 2, leaseDuration: LEASE_DURATION });
  agents = site.servers.map((server, at) =>
    site.agent({ name: `agent ${at + 1}`, server, capacity: CAPACITY }),
  );
  await agents[0]?.start();
  const { code, manifest } = await bundleSource(LEAVE_TRACES);
  const bundle = Buffer.from(code).toString();
  const keys = { development: site.credentials.api_key, production: await insertKey(site, "production") };
  const made: Place[] = [];
  for (const [name, key] of Object.entries(keys)) {
    const { body: me } = await site.call(urlOf(0), "GET", "/api/me", { as: key });
    const environmentId = me.api_key.environment_id as string;
    const place = { name, key, environmentId, secretId: "", version: 0 };
    await putSecret(place);
    await promoteWhenReady(site, await createDeployment(site, bundle, manifest.tasks, key), key);
    made.push(place);
  }
  places = made as [Place, Place];
});
after(() => site?.stop());

const urlOf = (at: number): string => (site.servers[at % site.servers.length] as ServerProcess).url;
const secretOf = (place: Place, version = place.version): string =>
  `secret-of-${place.name}-version-${version};`;
const leftBy = (place: Place): string => `left-by-${place.name};`;

/** The next version of the environment's secret, by one server and then the other. */
async function putSecret(place: Place): Promise<void> {
  place.version += 1;
  const body = { value: secretOf(place) };
  const answer = await site.call(urlOf(place.version), "PUT", "/api/secrets/KEY", { as: place.key, body });
  assert.ok(answer.status < 300, JSON.stringify(answer.body));
  assert.equal(answer.body.version, place.version);
  place.secretId = answer.body.id as string;
}

let round = 0;

/** Runs of one environment, all at once. */
async function runIn(place: Place, mode: Mode, runs = RUNS): Promise<Found[]> {
  const as = place.key;
  round += 1;
  const body = { payload: { mark: leftBy(place), round }, retry: { max_attempts: 1 } };
  const ids = await Promise.all(
    Array.from({ length: runs }, async (_, at) => {
      const started = await site.call(urlOf(at), "POST", `/v1/tasks/${mode}/start`, { as, body });
      assert.equal(started.status, 201, JSON.stringify(started.body));
      return started.body.id as string;
    }),
  );
  const found: Found[] = [];
  await until(`runs of ${place.name} end`, SETTLE_MS, async () => {
    const left = ids.slice(found.length);
    for (const id of left) {
      const { body: run } = await site.call(urlOf(0), "GET", `/v1/runs/${id}`, { as });
      assert.notEqual(run.status, "failed", JSON.stringify(run.failure));
      if (run.status !== "succeeded") return false;
      found.push({ ...(run.output as Found), id });
    }
    return true;
  });
  return found;
}

type Count = { runs: number; looked: number; own: number; warm: number; foreign: string[]; stale: string[] };
const counted: Count = { runs: 0, looked: 0, own: 0, warm: 0, foreign: [], stale: [] };
type CredentialCount = { acts: number; foreign: string[]; found: string[]; kept: number; taken: string[] };
const credentials: CredentialCount = { acts: 0, foreign: [], found: [], kept: 0, taken: [] };
const pidsOf = new Map<string, Set<number>>();

/** Everything of the other environment, or of a version that was replaced before the run began. */
function count(place: Place, other: Place, mode: Mode, found: readonly Found[]): void {
  const pids = pidsOf.get(place.name) ?? new Set();
  pidsOf.set(place.name, pids);
  for (const { pid, secret, client, earlier, seen } of found) {
    const where = `a run of ${place.name} (${mode}, version ${place.version})`;
    const texts = [secret, client, ...earlier, ...seen];
    counted.runs += 1;
    counted.looked += texts.length;
    counted.warm += pids.has(pid) ? 1 : 0;
    pids.add(pid);
    if (earlier.some((text) => text.includes(leftBy(place)))) counted.own += 1;
    for (const text of texts) {
      if (text.includes(leftBy(other)) || text.includes(`secret-of-${other.name}-`))
        counted.foreign.push(`${where}: ${text}`);
      for (let version = 1; version < place.version; version += 1)
        if (text.includes(secretOf(place, version))) counted.stale.push(`${where}: ${text}`);
    }
    if (secret !== secretOf(place) || client !== secretOf(place))
      counted.stale.push(`${where} used ${client}`);
  }
}

/** Whoever else a run could act as, and credentials of others that it found, or that were taken after their run. */
async function countCredentials(place: Place, other: Place, found: readonly Found[]): Promise<void> {
  const { environmentId } = place;
  for (const { id, acts, started, own, tokens, kept } of found) {
    for (const { run, environment, reads } of acts) {
      credentials.acts += 1;
      if (run !== id || environment !== environmentId || reads.some((read) => read !== environmentId))
        credentials.foreign.push(`${id} acted as ${run} in ${environment} and read ${reads.join()}`);
    }
    for (const [{ key }, status] of [
      [place, 200],
      [other, 404],
    ] as const) {
      const answer = await site.call(urlOf(0), "GET", `/v1/runs/${started}`, { as: key });
      if (answer.status !== status) credentials.foreign.push(`${id} started ${started}: ${answer.status}`);
    }
    for (const token of tokens) if (token !== own) credentials.found.push(`${id} found ${token}`);
    credentials.kept += kept.length;
    for (const answer of kept)
      if (answer !== 401 && answer !== "refused") credentials.taken.push(`${id}: ${answer}`);
  }
}

async function countAll(place: Place, other: Place, mode: Mode, found: readonly Found[]): Promise<void> {
  count(place, other, mode, found);
  await countCredentials(place, other, found);
}

for (const agentCount of isLong() ? [1, 2] : [2]) {
  for (const mode of MODES) {
    test(`two environments never meet: ${mode}, ${agentCount} agents, both orders, before and after a rotation`, async () => {
      for (const agent of agents.slice(0, agentCount)) if (agent.pid === 0) await agent.start();
      const orders = [places, places.toReversed() as [Place, Place]] as const;
      for (const [at, [one, other]] of orders.entries()) {
        // In the short form one order is before a rotation and the other after it.
        for (const rotates of isLong() ? [false, true] : [at > 0]) {
          if (rotates) await putSecret(one);
          const turns = [
            [one, other],
            [other, one],
            [one, other],
          ] as const;
          for (const [place, foreign] of isLong() ? turns : turns.slice(0, 2))
            await countAll(place, foreign, mode, await runIn(place, mode));
          // Both at once, on the same slots.
          const both = await Promise.all([runIn(one, mode), runIn(other, mode)]);
          await countAll(one, other, mode, both[0]);
          await countAll(other, one, mode, both[1]);
        }
      }
    });
  }
}

test("a rotation and a revocation end warm processes without a new lease", async () => {
  const [one, other] = places;
  const times: number[] = [];
  const untilGone = async (pids: readonly number[]): Promise<void> => {
    const from = performance.now();
    await until("the processes of the old version have ended", SETTLE_MS, () =>
      Promise.resolve(!pids.some((pid) => existsSync(`/proc/${pid}`))),
    );
    times.push(performance.now() - from);
  };
  for (const mode of MODES) {
    const old = (await runIn(one, mode, 1)).map(({ pid }) => pid);
    const kept = (await runIn(other, mode, 1)).map(({ pid }) => pid);
    await putSecret(one);
    await untilGone(old);
    assert.ok(
      kept.some((pid) => existsSync(`/proc/${pid}`)),
      "processes of the other environment were ended",
    );
    const next = (await runIn(one, mode, 1)).map(({ pid }) => pid);
    const path = `/v1/secrets/${one.secretId}/revoke`;
    assert.equal((await site.call(urlOf(1), "POST", path, { as: one.key })).status, 200);
    await untilGone(next);
    await putSecret(one);
    await countAll(one, other, mode, await runIn(one, mode));
  }
  console.log(
    `processes of replaced versions gone after ${times.map((ms) => ms.toFixed(0)).join(", ")} ms (heartbeat every ${HEARTBEAT_MS} ms)`,
  );
});

test("nothing of an environment was seen by a run of another, nor a replaced secret or another run's credential", async () => {
  const [one, other] = places;
  // How many runs find a warm process is the machine's: there are more until enough have.
  await until(`${ENOUGH_KEPT} uses of credentials that were kept`, SETTLE_MS, async () => {
    if (credentials.kept > ENOUGH_KEPT) return true;
    for (const mode of MODES) await countAll(one, other, mode, await runIn(one, mode));
    return false;
  });
  const { runs, looked, own, warm, foreign, stale } = counted;
  console.log(
    `R11: ${runs} runs, ${looked} texts looked at · ${warm} runs in warm processes, ${own} saw what earlier runs of their environment left · ` +
      `of the other environment ${foreign.length} · of replaced secrets ${stale.length}`,
  );
  console.log(
    `R11: ${credentials.acts} times that a client acted · as another run or environment ${credentials.foreign.length} · ` +
      `run tokens of others found ${credentials.found.length} · of ${credentials.kept} uses of credentials of ended runs taken ${credentials.taken.length}`,
  );
  assert.deepEqual(foreign.slice(0, 5), []);
  assert.deepEqual(stale.slice(0, 5), []);
  assert.deepEqual(credentials.foreign.slice(0, 5), []);
  assert.deepEqual(credentials.found.slice(0, 5), []);
  assert.deepEqual(credentials.taken.slice(0, 5), []);
  // Else there was nothing to be seen.
  assert.ok(credentials.acts >= 4 * runs);
  assert.ok(credentials.kept > ENOUGH_KEPT, `${credentials.kept} uses of credentials that were kept`);
  assert.ok(warm > runs / 4, `${warm} of ${runs} runs found a warm process`);
  assert.ok(own > runs / 4, `${own} of ${runs} runs saw what earlier ones left`);
});
