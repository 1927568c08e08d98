// What was told in time and lies unread in a pipe, because the agent itself stood still: it is read before a limit decides.

import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { removeTestFolder } from "../../server/test/support/test-folder.ts";
import { patience } from "../../server/test/support/until.ts";
import { contain } from "../src/supervisor/containment.ts";
import { launchExec } from "../src/supervisor/launch.ts";
import { SupervisedProcess } from "../src/supervisor/supervised-process.ts";
import { systemClock } from "../src/clock.ts";
import { bundleOf } from "./support/bundles.ts";
import { cleanUp } from "./support/clean-up.ts";
import { beginRun, DEAF, startTaskHost } from "./support/start-task-host.ts";
import { startTestAgent } from "./support/start-test-agent.ts";

const TOP = `import { existsSync, writeFileSync } from "node:fs";
  const seen = (file) => new Promise((resolve) => {
    const look = setInterval(() => existsSync(file) && resolve(clearInterval(look)), 5);
  });`;

/** Files by which a test and a process tell each other. */
async function makeSigns(
  t: TestContext,
): Promise<{ go: string; told: string; left: string; folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), "keelson-signs-"));
  cleanUp(t, () => removeTestFolder(folder));
  return { go: join(folder, "go"), told: join(folder, "told"), left: join(folder, "left"), folder };
}

/** This process, and the agent in it, stand still until it has happened and so much time has gone by. */
function standStill(ms: number, happened: () => boolean): void {
  const resumesAt = performance.now() + ms;
  const givesUpAt = resumesAt + patience();
  const cell = new Int32Array(new SharedArrayBuffer(4));
  while (performance.now() < resumesAt || !happened()) {
    assert.ok(performance.now() < givesUpAt, "it never happened");
    Atomics.wait(cell, 0, 0, 5);
  }
}

for (const execution of ["exclusive", "shared"] as const)
  for (const outcome of ["succeeded", "failed"] as const)
    test(`a run of ${execution} code that ${outcome} before its max_duration has that outcome, however late it is read`, async (t) => {
      const { server } = await startTestAgent(t, { keepsUser: true });
      const { go, told } = await makeSigns(t);
      const ends = outcome === "succeeded" ? "return 7;" : "throw new Error('its own');";
      // What is written a while after the end was told says that it was.
      const main = `console.log("up"); await seen(payload.go);
        setTimeout(() => writeFileSync(payload.told, ""), 200); ${ends}`;
      const digest = server.putBundle(bundleOf({ main }, TOP));
      const run = server.enqueue({ digest, execution, payload: { go, told }, max_duration: "4s" });
      await run.outputHas("stdout", "up");
      writeFileSync(go, "");
      standStill(4_100, () => existsSync(told));
      const release = await run.released;
      assert.equal(release.outcome, outcome, JSON.stringify(release));
      if (outcome === "failed") assert.equal(release.failure?.kind, "application_error");
    });

/** Says that it is there, and writes when it is asked to: a child that left its group and goes by no mark, and holds the pipe until its file is removed. */
const LEFT_CHILD = `: > "$3"; while [ ! -e "$1" ]; do sleep 0.02; done; echo last words; : > "$2"; while [ -e "$2" ]; do sleep 0.1; done`;

test("what a child of a host that is gone wrote within its time is read, however late", async (t) => {
  const { go, told, left, folder } = await makeSigns(t);
  const main = `spawn("env", ["-i", "PATH=" + process.env.PATH, "setsid", "sh", "-c", ${JSON.stringify(LEFT_CHILD)}, "sh", ...payload],
    { stdio: ["ignore", "inherit", "ignore"], detached: true }).unref(); await seen(payload[2]); process.exit(3);`;
  const source = bundleOf({ main }, `${TOP} import { spawn } from "node:child_process";`);
  const host = await startTaskHost(t, folder, source);
  let output = "";
  const run = beginRun(
    host,
    { entrypoint: { kind: "task", declaredId: "main" }, run: { payload: [go, told, left] }, secrets: {} },
    { ...DEAF, output: (_, bytes) => void (output += bytes.toString()) },
  );
  await host.gone;
  writeFileSync(go, "");
  standStill(2_100, () => existsSync(told));
  assert.equal((await run.ended).kind, "died");
  assert.equal(output, "last words\n");
});

test("what a child of a command that is gone wrote within its time is read, however late", async (t) => {
  const { go, told, left, folder } = await makeSigns(t);
  const start = `env -i PATH="$PATH" setsid sh -c '${LEFT_CHILD}' sh "$@" & while [ ! -e "$3" ]; do sleep 0.02; done; exit 0`;
  const command = {
    ...{ file: "/bin/sh", args: ["-c", start, "sh", go, told, left], cwd: folder },
    ...{ env: { PATH: process.env["PATH"] ?? "" }, files: [], uid: null, ignoresInterrupts: false },
    dispose: () => undefined,
  };
  const spec = {
    ...{ id: "exec_1", kind: "exec" as const, command: null, cwd: "", env: {} },
    ...{ timeoutMs: null, cols: null, rows: null },
  };
  // The command is gone, and what it left behind was looked for: from then on its output is read for a while.
  const searched = Promise.withResolvers<void>();
  const exec = new SupervisedProcess(spec, false, systemClock);
  await exec.start(async () => {
    const launched = await launchExec(command);
    const of = { materializationId: "mat_1", processId: spec.id, pid: launched.pid };
    const containment = contain("process", of);
    const killAll = (): Promise<void> => containment.killAll().finally(searched.resolve);
    return { launched, containment: { ...containment, killAll }, explainFailure: () => null };
  });
  await searched.promise;
  // Where timers come next, and pipes after them.
  await turn();
  writeFileSync(go, "");
  standStill(2_100, () => existsSync(told));
  await exec.ended;
  const after = { stdout: 0, stderr: 0, output: 0 };
  const { chunks, exit } = await exec.read(after, AbortSignal.timeout(0));
  assert.equal(Buffer.concat(chunks.map(({ data }) => data)).toString(), "last words\n");
  assert.equal(exit?.exitCode, 0);
});
