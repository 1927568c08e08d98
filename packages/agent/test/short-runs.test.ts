// Many runs that take little, some that do not, some that are cancelled, and processes that are killed.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { isLong, newSeed, pick, seededRandom, type Random } from "../../server/test/support/seeded-random.ts";
import { removeTestFolder } from "../../server/test/support/test-folder.ts";
import { until } from "../../server/test/support/until.ts";
import { bundleOf } from "./support/bundles.ts";
import { cleanUp } from "./support/clean-up.ts";
import type { RunRecord } from "./support/run-record.ts";
import { startTestAgent } from "./support/start-test-agent.ts";

/** Each run leaves a line for each time that it begins. */
const SOURCE = bundleOf(
  {
    main: `
      appendFileSync(payload.file, process.pid + "\\n");
      const until = performance.now() + payload.spinMs;
      while (performance.now() < until);
      if (payload.waitMs > 0) await setTimeout(payload.waitMs, null, { signal: ctx.signal });`,
  },
  `import { appendFileSync } from "node:fs"; import { setTimeout } from "node:timers/promises";`,
);

const RUNS = 150;

type Drawn = { run: RunRecord; file: string; isCancelled: boolean };

/** Most take nothing; the others hold up what comes behind them in their process. */
function drawLength(random: Random): { spinMs: number; waitMs: number } {
  const kind = random();
  if (kind < 0.8) return { spinMs: 0, waitMs: 0 };
  if (kind < 0.9) return { spinMs: random() * 4, waitMs: 0 };
  return kind < 0.95 ? { spinMs: 40, waitMs: 0 } : { spinMs: 0, waitMs: random() * 60 };
}

const linesOf = (file: string): string[] =>
  existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];

function unlessEnded(error: Error): void {
  if (!error.message.includes("has already ended")) throw error;
}

async function makeFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "keelson-short-"));
  cleanUp(t, () => removeTestFolder(folder));
  return folder;
}

test("each run ends, and has begun once at most, whatever is cancelled and killed meanwhile", async (t) => {
  const folder = await makeFolder(t);
  const { server, agent } = await startTestAgent(t, { capacity: 32 });
  const digest = server.putBundle(SOURCE);
  const seed = newSeed();
  const random = seededRandom(seed);
  t.diagnostic(`seed ${seed}`);
  const killed = new Set<string>();
  const outcomes: Record<string, number> = {};
  const all: Drawn[] = [];

  const killProcessOf = ({ file }: Drawn): void => {
    const [pid] = linesOf(file);
    // Only a process that lives has this as its parent.
    if (pid === undefined || !existsSync(`/proc/${pid}/status`)) return;
    if (!readFileSync(`/proc/${pid}/status`, "utf8").includes(`PPid:\t${process.pid}\n`)) return;
    killed.add(pid);
    process.kill(Number(pid), "SIGKILL");
  };

  const rounds = isLong() ? 40 : 2;
  for (let round = 0; round < rounds; round += 1) {
    const drawn = Array.from({ length: RUNS }, (_, n): Drawn => {
      const file = join(folder, `${round}-${n}`);
      const run = server.enqueue({ digest, payload: { file, ...drawLength(random) } });
      const isCancelled = random() < 0.1;
      if (isCancelled) void run.leased.then(() => server.cancel(run).catch(unlessEnded));
      return { run, file, isCancelled };
    });
    all.push(...drawn);
    for (let kill = 0; kill < 2; kill += 1) {
      const victim = pick(random, drawn);
      void victim.run.released.then(() => killProcessOf(victim));
    }
    const left = (): Drawn[] => drawn.filter(({ run }) => run.release === null);
    await until("all runs to have ended", 120_000, async () => left().length === 0).catch(
      (error: unknown) => {
        const files = left().map(({ file }) => `${file}: ${linesOf(file).length}`);
        throw new Error(`seed ${seed}, round ${round}: ${files.join(", ")}`, { cause: error });
      },
    );
    for (const { run } of drawn) {
      const outcome = run.release?.outcome ?? "none";
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    }
  }
  t.diagnostic(`${JSON.stringify(outcomes)}, ${killed.size} processes killed`);
  // What was handed back has begun again elsewhere, here: until this has ended.
  await agent.drain();
  for (const { run, file, isCancelled } of all) {
    const lines = linesOf(file);
    const wasKilled = lines.some((pid) => killed.has(pid));
    const outcome = run.release?.outcome ?? "none";
    const what = `seed ${seed}, ${file}: ${outcome}, begun ${lines.length} times`;
    assert.ok(lines.length <= 1 || wasKilled, what);
    if (outcome === "succeeded") assert.equal(lines.length, 1, what);
    if (outcome === "cancelled") assert.ok(isCancelled, what);
    if (outcome === "failed") assert.ok(wasKilled, `${what}: ${JSON.stringify(run.release?.failure)}`);
  }
  assert.ok((outcomes["succeeded"] ?? 0) > rounds * RUNS * 0.7, JSON.stringify(outcomes));
});
