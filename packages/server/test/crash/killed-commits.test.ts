// A kill of agent, supervisor or server at each step of a commit and of a quarantine: the bytes are on the agent's disk or in a
// version at every moment, and in a version in the end.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, watch } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fewOf, isLong, newSeed, pick, seededRandom } from "../support/seeded-random.ts";
import { until } from "../support/until.ts";
import { startStepProxy, type Step, type StepProxy } from "./support/step-proxy.ts";
import { supervisorsOf } from "./support/supervisors.ts";
import { startWorkspaceSite, type WorkspaceAgent, type WorkspaceSite } from "./support/workspace-site.ts";

let site: WorkspaceSite;
let proxy: StepProxy;
let agent: WorkspaceAgent;
before(async () => {
  site = await startWorkspaceSite({ leaseDuration: "6s", hasWitness: true });
  proxy = await startStepProxy(() => site.url);
  const named = site.agent({
    ...{ name: "agent 1", server: site.servers[0]!, capacity: 2 },
    env: { KEELSON_URL: proxy.url },
  });
  const folder = path.join(site.dir, "agents", "agents", "agent-1-1", "workspaces");
  agent = Object.defineProperty(named, "folder", { value: folder }) as WorkspaceAgent;
  await agent.start();
});
after(async () => {
  await proxy?.stop();
  await site?.stop();
});

const COMMIT = /POST .*\/workspaces\/commit$/;
const STORE = /PUT .*\/blobs\//;
const ENDED = /POST .*\/workspaces\/processes\/ended$/;
const STOPPED = /POST .*\/workspaces\/stopped$/;
const UNCOMMITTED = /POST .*\/workspaces\/uncommitted$/;

/** What a round does: a command ends, the workspace stops, it stops with what no version can have, or that is recovered. */
type Work = "exec" | "stop" | "quarantine" | "recover";
/** A call of the agent, or the mark of a quarantine that appears or goes. */
type Place = { work: Work; name: string; step: Step | "mark" | "release" };

const around = (work: Work, name: string, calls: RegExp): Place[] =>
  (["before", "after"] as const).map((at) => ({ work, name: `${work}: ${at} ${name}`, step: { calls, at } }));

const PLACES: readonly Place[] = [
  ...around("exec", "the first blob", STORE),
  ...around("exec", "the commit", COMMIT),
  ...around("exec", "the end", ENDED),
  ...around("stop", "the first blob", STORE),
  ...around("stop", "the commit", COMMIT),
  ...around("stop", "stopped", STOPPED),
  { work: "quarantine", name: "quarantine: the mark", step: "mark" },
  ...around("quarantine", "the commit", COMMIT),
  ...around("quarantine", "uncommitted", UNCOMMITTED),
  ...around("recover", "the commit", COMMIT),
  { work: "recover", name: "recover: the release", step: "release" },
  ...around("recover", "stopped", STOPPED),
];
const VICTIMS = ["agent", "supervisor", "server"] as const;
type Victim = (typeof VICTIMS)[number];
/** Each pass has another victim at each step: the long form has every victim at every step. */
const PASSES = isLong() ? VICTIMS.length : 1;

const UNFIT = String.raw`echo lost > "$(printf '\377%.0s' $(seq 100))"`;
const MARK = "uncommitted.json";
const MENDED = "mended";

const foldersOf = (): string[] => (existsSync(agent.folder) ? readdirSync(agent.folder) : []);

/** Whether the agent's disk has the file of the round. */
const isOnDisk = (content: string): boolean =>
  foldersOf().some((name) => {
    try {
      return readFileSync(path.join(agent.folder, name, "files/work"), "utf8") === content;
    } catch {
      return false;
    }
  });

/** What no version can have, of all folders. */
const listUnfit = (): { files: string; unfit: Buffer }[] =>
  foldersOf().flatMap((name) => {
    const files = path.join(agent.folder, name, "files");
    const names = existsSync(files) ? readdirSync(files, { encoding: "buffer" }) : [];
    return names
      .filter((file) => file.length === 100)
      .map((file) => ({ files, unfit: Buffer.concat([Buffer.from(`${files}/`), file]) }));
  });

function removeUnfit(): void {
  for (const { unfit } of listUnfit()) rmSync(unfit, { force: true });
}

/** It has a name now that a version can have: from here on there is something to commit. */
function mendUnfit(): void {
  for (const { files, unfit } of listUnfit()) renameSync(unfit, path.join(files, MENDED));
}

async function isInVersion(id: string, content: string, file = "work"): Promise<boolean> {
  const { current_version_id: version } = await site.get(id);
  return (await site.read(id, file, `&source=version&version_id=${version}`)) === content;
}

/** Kills it; resolves with what starts it again. */
async function kill(victim: Victim): Promise<() => Promise<void>> {
  const [server] = site.servers;
  if (victim === "agent") return agent.kill().then(() => () => agent.start());
  if (victim === "server") return server!.kill().then(() => () => server!.start());
  for (const pid of supervisorsOf(agent)) process.kill(pid, "SIGKILL");
  return () => Promise.resolve();
}

async function folderOf(id: string): Promise<string | undefined> {
  const { materialization } = await site.get(id);
  return foldersOf().find((name) => name.startsWith(materialization.id));
}

/** Resolves when the mark appears in the folder of the round, or is gone from it. */
async function untilMark(id: string, step: "mark" | "release", act: () => Promise<void>): Promise<void> {
  const name = await folderOf(id);
  const folder = path.join(agent.folder, name as string);
  const isThere = (): boolean => existsSync(path.join(folder, MARK));
  await new Promise<void>((resolve) => {
    const watcher = watch(folder, () => {
      if (isThere() !== (step === "mark")) return;
      watcher.close();
      resolve();
    });
  });
  await act();
}

const LARGE = "head -c 300000 /dev/urandom > large";

/** A step comes within seconds of what begins it. */
const REACHED_MS = 60_000;

async function within(ms: number, event: Promise<void>, otherwise: string): Promise<void> {
  const late = new AbortController();
  const timeout = sleep(ms, "late", { signal: late.signal }).catch(() => "in time");
  const outcome = await Promise.race([event, timeout]);
  late.abort();
  assert.notEqual(outcome, "late", otherwise);
}

/** Begins the round's work as far as the step needs it to be done already. */
async function prepare({ work }: Place, content: string): Promise<string> {
  const { id } = await site.create();
  if (work === "exec") {
    await site.act(id, "connect");
    return id;
  }
  const unfit = work === "stop" ? "true" : UNFIT;
  await site.startExec(id, `printf %s '${content}' > work; ${LARGE}; ${unfit}; echo begun; sleep 600`);
  if (work === "recover") {
    await site.act(id, "stop");
    await site.untilStatus(id, "uncommitted");
  }
  return id;
}

function begin({ work }: Place, id: string, content: string): Promise<unknown> {
  if (work === "recover") {
    // From now on the worker can commit, and may do so before it is told to.
    mendUnfit();
    return site.act(id, "recover");
  }
  if (work !== "exec") return site.act(id, "stop");
  const command = ["sh", "-c", `printf %s '${content}' > work; ${LARGE}`];
  return site.call(site.url, "POST", `/api/workspaces/${id}/execs`, { body: { command } });
}

/** Brings the workspace to rest, however often that has to be asked for. */
async function settle(id: string): Promise<void> {
  let acted = "";
  await until("the workspace is at rest", 90_000, async () => {
    removeUnfit();
    const { status } = (await site.get(id)).materialization;
    if (status === "stopped") return true;
    const verb = status === "live" ? "stop" : status === "uncommitted" ? "recover" : null;
    if (verb !== null && acted !== status) await site.act(id, verb);
    acted = status;
    // A failed one is at rest once its worker has nothing of it any more; it is taken up again before.
    return status === "failed" && (await folderOf(id)) === undefined;
  });
}

test("whoever is killed at whichever step, the bytes are on the disk or in a version", async (t) => {
  const seed = newSeed();
  const random = seededRandom(seed);
  const places = fewOf(PLACES, 6, seed);
  const killed = new Map(places.map(({ name }) => [name, new Set<Victim>()]));
  const first = Math.floor(random() * VICTIMS.length);
  let rounds = 0;
  let away = 0;
  for (let pass = 0; pass < PASSES; pass += 1) {
    for (const [index, place] of places.entries()) {
      const victim = VICTIMS[(first + index + pass) % VICTIMS.length] as Victim;
      // Now and then the agent stays away until it is lost.
      const isAway = victim === "agent" && pick(random, [true, false, false, false]);
      const content = `round ${rounds} of ${seed}`;
      const what = `${place.name}, ${victim} killed, seed ${seed}`;
      const id = await prepare(place, content);
      let restart = (): Promise<void> => Promise.resolve();
      const act = async (): Promise<void> => {
        restart = await kill(victim);
      };
      const reached =
        typeof place.step === "string" ? untilMark(id, place.step, act) : proxy.once(place.step, act);
      const working = begin(place, id, content).catch(() => undefined);
      await within(REACHED_MS, reached, `${what}: the step is not reached`);
      killed.get(place.name)?.add(victim);
      const onDisk = isOnDisk(content);
      if (isAway) {
        away += 1;
        await until("its lease is over", 30_000, async () =>
          ["failed", "uncommitted", "stopped"].includes((await site.get(id)).materialization.status),
        );
      }
      await restart();
      await working;
      assert.ok(onDisk || (await isInVersion(id, content)), `${what}: the bytes are nowhere`);
      await settle(id);
      assert.ok(await isInVersion(id, content), `${what}: the bytes are in no version`);
      if (place.work === "recover")
        assert.ok(await isInVersion(id, "lost\n", MENDED), `${what}: what was mended is in no version`);
      rounds += 1;
    }
  }
  assert.ok([...killed.values()].every((victims) => victims.size === PASSES));
  const counts = [...killed].map(([name, victims]) => `${name} ${[...victims].join(", ")}`).join("; ");
  t.diagnostic(`${rounds} kills, ${away} with an agent that stayed away, seed ${seed}: ${counts}`);
});
