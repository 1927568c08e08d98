import assert from "node:assert/strict";
import { test } from "node:test";
import { BLOCK, bundleOf } from "./support/bundles.ts";
import { sharedAgent, startTestAgent } from "./support/start-test-agent.ts";

const pause = `const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));`;

test("many runs share one process, and interleaved output goes to the run that wrote it", async () => {
  const { server } = await sharedAgent();
  const digest = server.putBundle(
    bundleOf(
      {
        main: `
          for (let i = 0; i < 5; i += 1) {
            console.log(payload.name, i);
            await pause(1);
            process.stderr.write(Buffer.from(payload.name.toLowerCase()));
          }
          return process.pid;`,
      },
      pause,
    ),
  );
  const names = ["A", "B", "C", "D", "E", "F"];
  const runs = names.map((name) => server.enqueue({ digest, execution: "shared", payload: { name } }));
  const releases = await Promise.all(runs.map((run) => run.released));
  assert.equal(new Set(releases.map(({ output }) => output)).size, 1);
  for (const [index, run] of runs.entries()) {
    const name = names[index] as string;
    assert.equal(run.output("stdout").toString(), [0, 1, 2, 3, 4].map((i) => `${name} ${i}\n`).join(""));
    assert.equal(run.output("stderr").toString(), name.toLowerCase().repeat(5));
  }
});

test("the crash of a shared process fails every run in it, and the next run gets a new one", async () => {
  const { server } = await sharedAgent();
  const digest = server.putBundle(
    bundleOf({
      wait: `console.log("up"); await new Promise(() => {});`,
      crash: `setTimeout(() => { throw new Error("shared crash"); }); await new Promise(() => {});`,
      fine: `return 1;`,
    }),
  );
  const waiting = server.enqueue({ digest, execution: "shared", task: "wait" });
  await waiting.outputHas("stdout", "up");
  const crashing = server.enqueue({ digest, execution: "shared", task: "crash" });
  for (const { failure } of await Promise.all([waiting.released, crashing.released])) {
    assert.equal(failure?.kind, "application_error");
    assert.equal(failure?.retryable, true);
    assert.match(failure?.message ?? "", /exited with code 1/);
    assert.match(failure?.stack ?? "", /shared crash/);
  }
  assert.equal((await server.enqueue({ digest, execution: "shared", task: "fine" }).released).output, 1);
});

test("a cancelled run that ignores its signal is left behind without harm to the others of its process", async (t) => {
  const { server } = await startTestAgent(t, { stopGraceMs: 100 });
  const digest = server.putBundle(
    bundleOf(
      {
        deaf: `console.log("up"); await pause(60_000);`,
        other: `console.log("up"); await pause(600); return process.pid;`,
        next: `return process.pid;`,
      },
      pause,
    ),
  );
  const deaf = server.enqueue({ digest, execution: "shared", task: "deaf" });
  const other = server.enqueue({ digest, execution: "shared", task: "other" });
  await Promise.all([deaf.outputHas("stdout", "up"), other.outputHas("stdout", "up")]);
  await server.cancel(deaf);
  assert.equal((await deaf.released).outcome, "cancelled");
  const next = await server.enqueue({ digest, execution: "shared", task: "next" }).released;
  const finished = await other.released;
  assert.equal(finished.outcome, "succeeded");
  assert.notEqual(next.output, finished.output);
});

test("a shared process whose event loop is blocked is ended when a run in it must end", async () => {
  const { server } = await sharedAgent();
  const digest = server.putBundle(
    bundleOf(
      {
        block: `console.log("up"); await pause(20); ${BLOCK}`,
        other: `console.log("up"); await pause(60_000);`,
      },
      pause,
    ),
  );
  const other = server.enqueue({ digest, execution: "shared", task: "other" });
  await other.outputHas("stdout", "up");
  const block = server.enqueue({ digest, execution: "shared", task: "block", max_duration: "200ms" });
  assert.equal((await block.released).failure?.kind, "timed_out");
  assert.match((await other.released).failure?.message ?? "", /no longer answered/);
});
