import assert from "node:assert/strict";
import { existsSync, watch } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { bundleOf } from "./support/bundles.ts";
import { spawnAgent, type SpawnedAgent } from "./support/spawn-agent.ts";
import { AgentServer } from "./support/start-agent-server.ts";
import { until } from "../../server/test/support/until.ts";
import { startTestAgent } from "./support/start-test-agent.ts";
import { digestOf } from "./support/test-place.ts";

const KIB = 1024;
const ENTRY = bundleOf(
  {
    main: `const { later } = await import("./parts/later.mjs"); return later;`,
    // Imports only when it may go on.
    held: `console.log("begun"); while (!existsSync(payload)) await new Promise((resolve) => setTimeout(resolve, 10));
      const { later } = await import("./parts/later.mjs"); return later;`,
  },
  `import { existsSync } from "node:fs";`,
);
/** An archive of about 20 KiB that shares its entry with the others. */
const filesOf = (name: string): Record<string, string> => ({
  "bundle.mjs": ENTRY,
  "parts/later.mjs": `export const later = ${JSON.stringify(name)};`,
  "assets/large.txt": name.repeat((20 * KIB) / name.length),
});
const placed = (dataDir: string): string => join(dataDir, "bundles", "placed");

async function bytesOf(folder: string): Promise<number> {
  const names = await readdir(folder);
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "keelson-eviction-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

test("a cache over its bound loses what was used longest ago, never what runs, and fetches it again", async (t) => {
  const bound = 70 * KIB;
  const { server, dataDir, whenLogged } = await startTestAgent(t, {
    keepsUser: true,
    capacity: 2,
    bundleCacheBytes: bound,
  });
  const goOn = join(await temporaryFolder(t), "go-on");
  const digests = ["one", "two", "three", "four", "five"].map((name) => server.putArchive(filesOf(name)));
  const [first, second] = digests as [string, string];
  const held = server.enqueue({ digest: first, task: "held", payload: goOn });
  await held.outputHas("stdout", "begun");
  for (const digest of digests.slice(1))
    assert.equal((await server.enqueue({ digest }).released).outcome, "succeeded");
  await whenLogged(() => !existsSync(join(placed(dataDir), second)));
  assert.ok(existsSync(join(placed(dataDir), first)), "the one in use stays, though it is the oldest");
  const files = join(dataDir, "bundles", "files");
  await until("files without a bundle have gone", 10_000, async () => (await bytesOf(files)) <= bound);
  await writeFile(goOn, "");
  assert.equal((await held.released).output, "one", "its code still finds its files");
  const fetched = server.countCalls(`bundles/${second}`);
  const { outcome, output } = await server.enqueue({ digest: second }).released;
  assert.deepEqual([outcome, output], ["succeeded", "two"]);
  assert.equal(server.countCalls(`bundles/${second}`), fetched + 1, "it was evicted and fetched again");
});

test("runs succeed in their only attempt while every unused bundle is evicted at once", async (t) => {
  const { server } = await startTestAgent(t, { keepsUser: true, capacity: 2, bundleCacheBytes: 1 });
  const names = ["one", "two", "three"];
  const digests = names.map((name) => server.putArchive(filesOf(name)));
  const wasEvicted = (): boolean => server.countCalls(`bundles/${digests[0]}`) > 1;
  // On a busy machine some rounds end before the worker has looked for what it can evict.
  for (let round = 0; round < 4 || !wasEvicted(); round += 1) {
    const runs = digests.map((digest) => server.enqueue({ digest }).released);
    const outputs = (await Promise.all(runs)).map(({ outcome, output }) => `${outcome} ${String(output)}`);
    assert.deepEqual(
      outputs,
      names.map((name) => `succeeded ${name}`),
    );
  }
});

test("an agent evicts nothing that another agent of the data folder uses", async (t) => {
  const one = await startTestAgent(t, { keepsUser: true });
  const goOn = join(await temporaryFolder(t), "go-on");
  const digest = one.server.putArchive(filesOf("one"));
  const held = one.server.enqueue({ digest, task: "held", payload: goOn });
  await held.outputHas("stdout", "begun");
  const unused = join(placed(one.dataDir), "e".repeat(64));
  await mkdir(unused);
  await writeFile(join(unused, "file"), "unused");
  const two = await startTestAgent(t, { keepsUser: true, dataDir: one.dataDir, bundleCacheBytes: 1 });
  await two.whenLogged(({ message }) => message === "bundles were evicted from the cache");
  assert.deepEqual(await readdir(placed(one.dataDir)), [digest]);
  await writeFile(goOn, "");
  assert.equal((await held.released).output, "one");
});

test("a bundle that another agent evicted is fetched again for the next run", async (t) => {
  const one = await startTestAgent(t, { keepsUser: true, capacity: 1 });
  const digest = one.server.putArchive(filesOf("one"));
  const other = one.server.putArchive(filesOf("two"));
  assert.equal((await one.server.enqueue({ digest }).released).outcome, "succeeded");
  // Takes the place of the process that uses the first.
  assert.equal((await one.server.enqueue({ digest: other }).released).outcome, "succeeded");
  const two = await startTestAgent(t, { keepsUser: true, dataDir: one.dataDir, bundleCacheBytes: 1 });
  await two.whenLogged(({ message }) => message === "bundles were evicted from the cache");
  assert.deepEqual(await readdir(placed(one.dataDir)), [other]);
  const { outcome, output } = await one.server.enqueue({ digest }).released;
  assert.deepEqual([outcome, output], ["succeeded", "one"]);
});

/** Resolves when the agent has logged the text. */
const hasLogged = (agent: SpawnedAgent, text: string): Promise<void> =>
  new Promise((resolve) => {
    const look = (): void => void (agent.stderr().includes(text) && resolve());
    agent.child.stderr?.on("data", look);
    look();
  });

const LAID = 40;
/** As many as the cache has room for. */
const FITTING = 20;
const FILES = 50;

/** Bundles that were used long ago, the first one longest ago, twice as many as fit. */
async function layBundles(dataDir: string, longAgo: number): Promise<void> {
  for (let number = 0; number < LAID; number += 1) {
    const root = join(placed(dataDir), digestOf(String(number)));
    await mkdir(root, { recursive: true });
    for (let file = 0; file < FILES; file += 1) await writeFile(join(root, String(file)), "x".repeat(KIB));
    await utimes(root, longAgo + number, longAgo + number);
  }
}

/** Kills an agent as soon as it has begun to evict. @returns what it has left */
async function killWhileItEvicts(
  t: TestContext,
  settings: Record<string, string>,
  dataDir: string,
): Promise<string[]> {
  const evicting = Promise.withResolvers<void>();
  const watcher = watch(placed(dataDir), (_, name) => void (name?.endsWith(".old") && evicting.resolve()));
  const killed = await spawnAgent(t, settings);
  await evicting.promise;
  killed.child.kill("SIGKILL");
  await killed.exited;
  watcher.close();
  return (await readdir(placed(dataDir))).filter((name) => !name.endsWith(".old"));
}

test("the next start repairs what an eviction left that was killed", { timeout: 120_000 }, async (t) => {
  const server = await AgentServer.start();
  t.after(() => server.close());
  const dataDir = await temporaryFolder(t);
  const longAgo = (Date.now() - 50 * 3_600_000) / 1000;
  const settings = { ...server.settings, KEELSON_DATA_DIR: dataDir, KEELSON_AGENT_BUNDLE_CACHE_MIB: "1" };
  let left: string[] = [];
  // On a busy machine it may have evicted everything before it is killed.
  while (left.length <= FITTING) {
    await layBundles(dataDir, longAgo);
    left = await killWhileItEvicts(t, settings, dataDir);
  }
  for (const name of left)
    assert.equal((await readdir(join(placed(dataDir), name))).length, FILES, "each is whole");
  await mkdir(join(dataDir, "bundles", "files"), { recursive: true });
  const orphan = join(dataDir, "bundles", "files", `${digestOf("orphan")}.123456789abc.partial`);
  await writeFile(orphan, "half");
  await utimes(orphan, longAgo, longAgo);
  const next = await spawnAgent(t, settings);
  await hasLogged(next, "bundles were evicted from the cache");
  const names = await readdir(placed(dataDir));
  assert.equal(names.length, FITTING, "as many as fit, and nothing else");
  assert.deepEqual(
    names.toSorted(),
    Array.from({ length: FITTING }, (_, at) => digestOf(String(at + LAID - FITTING))).toSorted(),
    "those used last",
  );
  assert.equal(existsSync(orphan), false);
  const run = server.enqueue({ digest: server.putArchive(filesOf("one")) });
  assert.equal((await run.released).output, "one");
});
