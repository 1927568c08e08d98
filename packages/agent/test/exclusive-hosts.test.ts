import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { bundleOf } from "./support/bundles.ts";
import { cleanUp } from "./support/clean-up.ts";
import type { RunRecord } from "./support/run-record.ts";
import { startTestAgent } from "./support/start-test-agent.ts";
import { until } from "../../server/test/support/until.ts";

const IMPORTS = `import { existsSync, readdirSync, writeFileSync } from "node:fs";
  import { spawn } from "node:child_process";
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));`;

/** The payload is a file that the test makes. */
const UNTIL_OPEN = "while (!existsSync(payload)) await pause(5);";

const outputs = async <T>(runs: RunRecord[]): Promise<T[]> =>
  Promise.all(
    runs.map(async (run) => {
      const release = await run.released;
      assert.equal(release.outcome, "succeeded", JSON.stringify(release.failure));
      return release.output as T;
    }),
  );

async function makeFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "keelson-gate-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  return folder;
}

test("short runs share a few processes, however many the worker may have", async (t) => {
  const { server } = await startTestAgent(t, { capacity: 16 });
  const digest = server.putBundle(bundleOf({ main: `return process.pid;` }));
  const pids = await outputs<number>(Array.from({ length: 64 }, () => server.enqueue({ digest })));
  const used = new Set(pids).size;
  t.diagnostic(`${used} processes`);
  assert.ok(used < 10, `${used} processes for 64 runs that take no time`);
});

test("runs that take long have a process each, up to the capacity", async (t) => {
  const { server } = await startTestAgent(t, { capacity: 5 });
  const folder = await makeFolder(t);
  // None ends before all are there.
  const main = `writeFileSync(payload + "/" + process.pid, ""); while (readdirSync(payload).length < 5) await pause(5); return process.pid;`;
  const digest = server.putBundle(bundleOf({ main }, IMPORTS));
  const pids = await outputs<number>(
    Array.from({ length: 5 }, () => server.enqueue({ digest, payload: folder })),
  );
  assert.equal(new Set(pids).size, 5);
});

test("a process of another deployment takes the place of one idle process, not of all", async (t) => {
  const { server } = await startTestAgent(t, { capacity: 3 });
  const folder = await makeFolder(t);
  const main = `writeFileSync(payload + "/" + process.pid, ""); while (readdirSync(payload).length < 3) await pause(5); return process.pid;`;
  const digest = server.putBundle(bundleOf({ main }, IMPORTS));
  const run = (): RunRecord => server.enqueue({ digest, payload: folder });
  const pids = await outputs<number>([run(), run(), run()]);
  await outputs([server.enqueue({ digest: server.putBundle(bundleOf({ main: `return 1;` })) })]);
  const [next] = await outputs<number>([run()]);
  assert.ok(pids.includes(next as number), `${next} is none of ${pids.join()}`);
});

test("a run takes the first process that is free, also while another one boots for it", async (t) => {
  const boots = await makeFolder(t);
  const { server } = await startTestAgent(t, { capacity: 2 });
  const open = join(await makeFolder(t), "open");
  const hold = `console.log("up"); ${UNTIL_OPEN} return process.pid;`;
  const boot = `${IMPORTS} writeFileSync(${JSON.stringify(boots)} + "/" + process.pid, ""); await pause(1_500);`;
  const digest = server.putBundle(bundleOf({ hold, next: `return process.pid;` }, boot));
  const first = server.enqueue({ digest, task: "hold", payload: open });
  await first.outputHas("stdout", "up");
  const second = server.enqueue({ digest, task: "next" });
  await second.leased;
  await until("another process to boot", 60_000, async () => (await readdir(boots)).length > 1);
  await writeFile(open, "");
  const [held, next] = await outputs<number>([first, second]);
  assert.equal(next, held);
});

test("bundles that hang while they are imported hold up no other bundle", async (t) => {
  const { server } = await startTestAgent(t, { capacity: 8 });
  const hanging = server.putBundle(
    `setInterval(() => undefined, 1_000); await new Promise(() => undefined);`,
  );
  const hung = [1, 2, 3, 4].map(() => server.enqueue({ digest: hanging }));
  const fine = server.enqueue({ digest: server.putBundle(bundleOf({ main: `return 1;` })) });
  assert.deepEqual(await outputs([fine]), [1]);
  assert.deepEqual(
    hung.map(({ release }) => release),
    [null, null, null, null],
    "it came only after their boots were ended",
  );
});

test("a boot that fails fails one run, and each that waits has its own try", async (t) => {
  // A process may still write into it when all runs have ended: it goes after the agent.
  const folder = await makeFolder(t);
  const { server } = await startTestAgent(t, { capacity: 4 });
  const open = join(await makeFolder(t), "open");
  const digest = server.putBundle(
    bundleOf(
      { main: `${UNTIL_OPEN} return 1;` },
      `${IMPORTS} const tries = readdirSync(${JSON.stringify(folder)}).length;
      writeFileSync(${JSON.stringify(folder)} + "/" + process.pid, "");
      if (tries === 0) throw new Error("not yet");`,
    ),
  );
  const runs = Array.from({ length: 4 }, () => server.enqueue({ digest, payload: open }));
  // Whoever has a process keeps it meanwhile: somebody waits when the boot fails, however late that is.
  const first = await Promise.race(runs.map(({ released }) => released));
  assert.equal(first.outcome, "failed");
  assert.match(first.failure?.message ?? "", /not yet/);
  await writeFile(open, "");
  const releases = await Promise.all(runs.map(({ released }) => released));
  const failed = releases.filter(({ outcome }) => outcome === "failed");
  assert.ok(failed.length <= 2, `${failed.length} failed`);
});

test("all that a run wrote is there at its end, and nothing of the run before it", async (t) => {
  const { server } = await startTestAgent(t, { capacity: 1 });
  const digest = server.putBundle(
    bundleOf({
      main: `process.stderr.write(payload.repeat(10_000)); process.stdout.write(payload.repeat(70_000)); return process.pid;`,
    }),
  );
  const letters = "abcdefghijklmnopqrstuvwxyz".split("");
  const runs = letters.map((payload) => server.enqueue({ digest, payload }));
  const pids = await outputs<number>(runs);
  assert.equal(new Set(pids).size, 1);
  for (const [i, run] of runs.entries()) {
    assert.equal(run.output("stdout").toString(), letters[i]?.repeat(70_000));
    assert.equal(run.output("stderr").toString(), letters[i]?.repeat(10_000));
  }
});

test("a child that goes on writing holds up neither the end of its run nor the worker", async (t) => {
  const { server } = await startTestAgent(t, { capacity: 1, maxLogBytes: 100_000 });
  const flood = `spawn("sh", ["-c", "exec cat /dev/zero"], { stdio: ["ignore", "inherit", "inherit"] }); await pause(200); return 1;`;
  const digest = server.putBundle(bundleOf({ flood, main: `return 2;` }, IMPORTS));
  const first = server.enqueue({ digest, task: "flood" });
  const second = server.enqueue({ digest });
  assert.deepEqual(await outputs([first, second]), [1, 2]);
});

test("short runs that come together each have their own output and their own time", async (t) => {
  const { server } = await startTestAgent(t, { capacity: 16 });
  const main = `console.log("out " + payload); console.error("err " + payload); if (payload % 10 === 0) spawnSync("sh", ["-c", "echo child " + payload], { stdio: "inherit" }); return process.pid;`;
  const digest = server.putBundle(bundleOf({ main }, `import { spawnSync } from "node:child_process";`));
  const runs = Array.from({ length: 400 }, (_, payload) => server.enqueue({ digest, payload }));
  const pids = await outputs<number>(runs);
  t.diagnostic(`${new Set(pids).size} processes`);
  for (const [i, run] of runs.entries()) {
    const child = i % 10 === 0 ? `child ${i}\n` : "";
    assert.equal(run.output("stdout").toString(), `out ${i}\n${child}`);
    assert.equal(run.output("stderr").toString(), `err ${i}\n`);
    const [start, ...later] = run.operations;
    assert.equal(start?.kind, "start");
    for (const { at } of later.filter(({ kind }) => kind === "release") as { at: string }[])
      assert.ok(Date.parse(at) >= Date.parse((start as { at: string }).at), `${at} is before its start`);
  }
});

test("a run that takes long all of a sudden holds up none of those that came with it", async (t) => {
  const { server } = await startTestAgent(t, { capacity: 8 });
  const open = join(await makeFolder(t), "open");
  // It blocks its process: nobody in there could give the others back.
  const block = `while (!existsSync(payload)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5); return 1;`;
  const digest = server.putBundle(bundleOf({ block, main: `return 2;` }, IMPORTS));
  // Until all of them are known to be short.
  await outputs(Array.from({ length: 200 }, () => server.enqueue({ digest })));
  const runs = Array.from({ length: 80 }, (_, i) =>
    i % 16 === 3 ? server.enqueue({ digest, task: "block", payload: open }) : server.enqueue({ digest }),
  );
  const isShort = (_: RunRecord, i: number): boolean => i % 16 !== 3;
  await Promise.all(runs.filter(isShort).map(({ released }) => released));
  await writeFile(open, "");
  await Promise.all(runs.map(({ released }) => released));
  // One that has waited for a slot for a second, as on a slow machine, was handed back, and has not begun here.
  const isHere = ({ release, operations }: RunRecord): boolean =>
    release?.outcome !== "rejected" || operations.some(({ kind }) => kind === "start");
  const [short, long] = [runs.filter(isShort), runs.filter((_, i) => !isShort(_, i))];
  assert.deepEqual(new Set(await outputs(short.filter(isHere))), new Set([2]));
  assert.deepEqual(new Set(await outputs(long.filter(isHere))), new Set([1]));
});

test("a run that begins behind a short one and says nothing is known to have begun", async (t) => {
  const { server } = await startTestAgent(t, { capacity: 8 });
  const folder = await makeFolder(t);
  const open = join(folder, "open");
  const main = `await pause(payload.ms); while (payload.open && !existsSync(payload.open)) await pause(5); return 1;`;
  const digest = server.putBundle(bundleOf({ main }, IMPORTS));
  await outputs(Array.from({ length: 200 }, () => server.enqueue({ digest, payload: { ms: 0 } })));
  // At different times after the look that was to come, whoever is before them.
  for (let round = 0; round < 30; round += 1) {
    const runs = [0, 1, 2, 3].map(() => server.enqueue({ digest, payload: { ms: round % 20 } }));
    const held = [1, 2, 3].map(() => server.enqueue({ digest, payload: { ms: 0, open } }));
    await Promise.all(
      held.map((run) => run.until(() => run.operations.some(({ kind }) => kind === "start"))),
    );
    await writeFile(open, "");
    await outputs([...runs, ...held]);
    await rm(open);
  }
});
