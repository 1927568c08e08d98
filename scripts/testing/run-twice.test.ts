import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test, type TestContext } from "node:test";
import { promisify } from "node:util";
import { until } from "../../packages/server/test/support/until.ts";
import type { TwiceResult } from "./run-twice.ts";

const MAIN = path.join(import.meta.dirname, "fixtures/main.ts");

interface Told extends TwiceResult {
  readonly again: readonly string[];
  readonly summary: string;
  readonly logs: string;
}

interface RunOptions {
  readonly limitMs?: number;
  readonly isStrict?: boolean;
}

async function runFixtures(
  t: TestContext,
  names: readonly string[],
  { limitMs = 300_000, isStrict = false }: RunOptions = {},
): Promise<Told> {
  const place = await mkdtemp(path.join(tmpdir(), "keelson-fixtures-"));
  t.after(() => rm(place, { recursive: true, force: true }));
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      ...process.execArgv.filter((flag) => !flag.startsWith("--test")),
      MAIN,
      place,
      String(limitMs),
      ...names,
    ],
    { env: { ...env, FIXTURE_STRICT: isStrict ? "1" : "0" } },
  );
  return { ...(JSON.parse(stdout) as Omit<Told, "logs">), logs: path.join(place, "logs") };
}

/** It was told to end; when it does is the kernel's. */
const untilGone = (pid: number): Promise<void> =>
  until("the process has ended", 10_000, async () =>
    /gone|\) Z /.test(await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "gone")),
  );

test("a file that fails once is run again with more patience, and is unsteady", async (t) => {
  const { red, unsteady, results, again, summary } = await runFixtures(t, ["fails-once"]);
  assert.deepEqual([again, red], [["fails-once.ts"], []]);
  assert.deepEqual(
    unsteady.flatMap(({ failures }) => failures.map(({ name }) => name)),
    ["is right the second time"],
  );
  assert.equal(results.length, 1);
  assert.match(
    summary,
    /^unsteady {2}scripts\/testing\/fixtures\/fails-once\.ts · is right the second time · seed 7 · /m,
  );
  assert.ok(summary.endsWith("\n1 passed, 0 failed, 0 skipped"), summary);
});

test("without a second chance it is a failure", async (t) => {
  const { red, unsteady, again } = await runFixtures(t, ["fails-once"], { isStrict: true });
  assert.deepEqual([red.length, unsteady, again], [1, [], []]);
});

test("a file that fails twice is a failure, with its place, its error, and how it is run alone", async (t) => {
  const { red, again, summary, logs } = await runFixtures(t, ["fails-twice"]);
  assert.deepEqual([red.length, again], [1, ["fails-twice.ts"]]);
  assert.match(summary, /^test at scripts\/testing\/fixtures\/fails-twice\.ts:5:\d+$/m);
  assert.match(summary, /^✖ are wrong$/m);
  assert.match(summary, /^ {2}alone: npm test -- scripts\/testing\/fixtures\/fails-twice\.ts$/m);
  assert.match(summary, /^skipped {3}1 × there is no abacus$/m);
  assert.ok(summary.endsWith("\n1 passed, 1 failed, 1 skipped"), summary);
  const names = await readdir(logs);
  assert.ok(
    names.some((name) => name.endsWith(".again.log")),
    names.join(" "),
  );
  const log = names.find((name) => name.endsWith("fails-twice.ts.log")) ?? "";
  assert.match(await readFile(path.join(logs, log), "utf8"), /✖ are wrong[^]*✔ are right/);
});

test("a file that hangs is ended, and what it waits for is told", async (t) => {
  const { red } = await runFixtures(t, ["hangs"], { limitMs: 4_000, isStrict: true });
  const [failure] = red.flatMap(({ failures }) => failures);
  assert.match(failure?.error ?? "", /^No test of it had ended for 4 s\.\nin "waits for nobody"$/m);
  assert.match(failure?.error ?? "", /^waits for tcp at 127\.0\.0\.1:\d+$/m);
});

test("what a file leaves is ended, removed and told, and the file has passed", async (t) => {
  const { red, results, summary } = await runFixtures(t, ["leaves-process"]);
  assert.deepEqual(red, []);
  const left = results[0]?.left ?? [];
  assert.equal(left.length, 2, left.join("\n"));
  const pid = Number(/^process (\d+): sleep 600 $/.exec(left[0] ?? "")?.[1]);
  await untilGone(pid);
  assert.match(left[1] ?? "", /^folder or file \/.*\/forgotten$/);
  assert.equal(summary.match(/^left {6}scripts\/testing\/fixtures\/leaves-process\.ts · /gm)?.length, 2);
});

test("what a file has started ends with a run that is interrupted", async (t) => {
  const place = await mkdtemp(path.join(tmpdir(), "keelson-fixtures-"));
  t.after(() => rm(place, { recursive: true, force: true }));
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const flags = process.execArgv.filter((flag) => !flag.startsWith("--test"));
  const run = spawn(process.execPath, [...flags, MAIN, place, "300000", "is-interrupted"], {
    ...{ env, stdio: "ignore" },
  });
  const ended = once(run, "exit");
  let pid = 0;
  await until("the file has started a process", 60_000, async () => {
    pid = Number(await readFile(path.join(place, "mark"), "utf8").catch(() => 0));
    return pid > 0;
  });
  run.kill("SIGINT");
  await ended;
  await untilGone(pid);
});
