import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { hasEnded, isAlive } from "./support/alive.ts";
import { BLOCK, bundleOf } from "./support/bundles.ts";
import { sharedAgent, startTestAgent } from "./support/start-test-agent.ts";
import { cleanUp } from "./support/clean-up.ts";

test("a run executes in a process of its own and its start, output and result are reported in order", async () => {
  const { server } = await sharedAgent();
  const digest = server.putBundle(
    bundleOf({ main: `console.log("hello", payload.name); return { pid: process.pid };` }),
  );
  const run = server.enqueue({ digest, payload: { name: "Ada" } });
  const release = await run.released;
  assert.equal(release.outcome, "succeeded");
  assert.notEqual((release.output as { pid: number }).pid, process.pid);
  assert.equal(run.output("stdout").toString(), "hello Ada\n");
  assert.deepEqual(
    run.operations.map(({ kind }) => kind),
    ["start", "logs", "release"],
  );
  assert.deepEqual(
    run.operations.map(({ sequence }) => sequence),
    [1, 2, 3],
  );
});

test("the next run of a deployment finds the process warm, and another deployment gets its own", async (t) => {
  const { server } = await startTestAgent(t, { capacity: 2 });
  const digest = server.putBundle(bundleOf({ main: `return process.pid;` }));
  const other = server.putBundle(bundleOf({ main: `return process.pid;` }, "// another"));
  const first = await server.enqueue({ digest }).released;
  const second = await server.enqueue({ digest }).released;
  const third = await server.enqueue({ digest: other }).released;
  assert.equal(second.output, first.output);
  assert.notEqual(third.output, first.output);
});

test("output is kept byte for byte: binary, halves of characters, a child's output, and the last bytes before the end", async () => {
  const { server } = await sharedAgent();
  const blob = randomBytes(300_000);
  const digest = server.putBundle(
    bundleOf(
      {
        main: `
          const blob = Buffer.from(payload.blob, "base64");
          process.stdout.write(blob);
          process.stdout.write(Buffer.from("€").subarray(0, 1));
          await new Promise((resolve) => setTimeout(resolve, 30));
          process.stdout.write(Buffer.from("€").subarray(1));
          execFileSync("sh", ["-c", "printf child; printf oops >&2"], { stdio: ["ignore", "inherit", "inherit"] });
          process.stdout.write("\\0keelson:");
          process.stderr.write("last");`,
      },
      `import { execFileSync } from "node:child_process";`,
    ),
  );
  const run = server.enqueue({ digest, payload: { blob: blob.toString("base64") } });
  assert.equal((await run.released).outcome, "succeeded");
  const expected = Buffer.concat([blob, Buffer.from("€child\0keelson:")]);
  assert.equal(
    createHash("sha256").update(run.output("stdout")).digest("hex"),
    createHash("sha256").update(expected).digest("hex"),
  );
  assert.equal(run.output("stderr").toString(), "oopslast");
});

test("a process that exits by itself fails its run, with its code, and all it wrote is there", async () => {
  const { server } = await sharedAgent();
  const digest = server.putBundle(
    bundleOf({
      main: `process.stdout.write("x".repeat(1_000_000) + "end"); process.exit(7);`,
      fine: `return process.pid`,
    }),
  );
  const run = server.enqueue({ digest });
  const release = await run.released;
  assert.equal(release.outcome, "failed");
  assert.equal(release.failure?.kind, "application_error");
  assert.match(release.failure?.message ?? "", /exited with code 7/);
  assert.equal(release.failure?.retryable, true);
  assert.equal(run.output("stdout").length, 1_000_003);
  assert.equal((await server.enqueue({ digest, task: "fine" }).released).outcome, "succeeded");
});

test("a process that is killed fails its run and names the signal", async () => {
  const { server } = await sharedAgent();
  const digest = server.putBundle(
    bundleOf({ main: `process.kill(process.pid, "SIGSEGV"); await new Promise(() => {});` }),
  );
  const { failure } = await server.enqueue({ digest }).released;
  assert.equal(failure?.kind, "application_error");
  assert.match(failure?.message ?? "", /ended by SIGSEGV/);
});

test("an error that nothing catches fails the run with its message and stack, and the process is not used again", async () => {
  const { server } = await sharedAgent();
  const digest = server.putBundle(
    bundleOf({
      thrown: `console.log(process.pid); setTimeout(() => { throw new Error("out of nowhere"); }, 5); await new Promise(() => {});`,
      rejected: `Promise.reject(new TypeError("nobody waits")); await new Promise(() => {});`,
      pid: `return process.pid`,
    }),
  );
  const thrown = server.enqueue({ digest, task: "thrown" });
  const { failure } = await thrown.released;
  assert.equal(failure?.message, "out of nowhere");
  assert.match(failure?.stack ?? "", /Error: out of nowhere\n +at/);
  const rejected = await server.enqueue({ digest, task: "rejected" }).released;
  assert.equal(rejected.failure?.message, "Unhandled rejection: nobody waits");
  const after = await server.enqueue({ digest, task: "pid" }).released;
  assert.notEqual(String(after.output), thrown.output("stdout").toString().trim());
});

test("stacks of a bundle with a source map name the author's file and line", async () => {
  const { server } = await sharedAgent();
  const source = `export const keelson = { formatVersion: 1, sdkVersion: "0", manifest: () => ({ tasks: [{ id: "main" }] }),\n  execute() { throw new Error("mapped"); } };\n`;
  // Line 2, column 14 of the bundle is line 42 of report.ts.
  const map = { version: 3, sources: ["report.ts"], names: [], mappings: ";AAyCA" };
  const digest = server.putBundle(
    `${source}//# sourceMappingURL=data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString("base64")}\n`,
  );
  const { failure } = await server.enqueue({ digest }).released;
  assert.match(failure?.stack ?? "", /report\.ts:42/);
});

test("a heap over memory_mb ends as out_of_memory", async () => {
  const { server } = await sharedAgent();
  const digest = server.putBundle(
    bundleOf({ main: `const kept = []; for (;;) kept.push(new Array(10_000).fill(kept.length));` }),
  );
  const { failure } = await server.enqueue({ digest, memory_mb: 32 }).released;
  assert.equal(failure?.kind, "out_of_memory");
  assert.match(failure?.message ?? "", /memory_mb, 32 MiB/);
});

test("memory outside the heap counts too", async () => {
  const { server } = await sharedAgent();
  const digest = server.putBundle(
    bundleOf({
      main: `globalThis.kept = Buffer.alloc(300 * 1024 * 1024, 1); await new Promise((resolve) => setTimeout(resolve, 20_000));`,
    }),
  );
  const { failure } = await server.enqueue({ digest, memory_mb: 64 }).released;
  assert.equal(failure?.kind, "out_of_memory");
  assert.match(failure?.message ?? "", /64 MiB/);
});

test("max_duration aborts the signal, and ends code that ignores it", async () => {
  const { server } = await sharedAgent();
  const digest = server.putBundle(
    bundleOf({
      polite: `await new Promise((_, reject) => ctx.signal.addEventListener("abort", () => { console.log(ctx.signal.reason.message); reject(ctx.signal.reason); }));`,
      deaf: BLOCK,
    }),
  );
  const polite = server.enqueue({ digest, task: "polite", max_duration: "100ms" });
  const deaf = server.enqueue({ digest, task: "deaf", max_duration: "100ms" });
  const [first, second] = await Promise.all([polite.released, deaf.released]);
  assert.equal(first.failure?.kind, "timed_out");
  assert.match(polite.output("stdout").toString(), /timed out/);
  assert.equal(second.failure?.kind, "timed_out");
  assert.match(second.failure?.message ?? "", /max_duration of 100ms/);
});

test("a cancellation aborts the signal, and kills a run that ignores it after the grace", async (t) => {
  const { server } = await startTestAgent(t, { stopGraceMs: 200 });
  const digest = server.putBundle(
    bundleOf({
      polite: `console.log("up"); await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve)); console.log(ctx.signal.reason.message);`,
      deaf: `console.log("up " + process.pid); ${BLOCK}`,
    }),
  );
  const polite = server.enqueue({ digest, task: "polite" });
  const deaf = server.enqueue({ digest, task: "deaf" });
  await Promise.all([polite.outputHas("stdout", "up"), deaf.outputHas("stdout", "up")]);
  await server.cancel(polite);
  await server.cancel(deaf);
  assert.equal((await polite.released).outcome, "cancelled");
  assert.match(polite.output("stdout").toString(), /The run was cancelled/);
  assert.equal((await deaf.released).outcome, "cancelled");
  assert.equal(isAlive(Number(deaf.output("stdout").toString().slice(3))), false);
});

test("a bundle that cannot be imported is a bundle_error with its reason, and is not retried", async () => {
  const { server } = await sharedAgent();
  const throwing = await server.enqueue({ digest: server.putBundle(`throw new Error("no database url");`) })
    .released;
  assert.equal(throwing.failure?.kind, "bundle_error");
  assert.match(throwing.failure?.message ?? "", /no database url/);
  assert.equal(throwing.failure?.retryable, false);
  const exiting = await server.enqueue({ digest: server.putBundle(`process.exit(3);`) }).released;
  assert.match(exiting.failure?.message ?? "", /imported the bundle.*exited with code 3/);
  const empty = await server.enqueue({ digest: server.putBundle(`export const other = 1;`) }).released;
  assert.match(empty.failure?.message ?? "", /no export `keelson`/);
});

test("a bundle that cannot be downloaded hands the run back", async () => {
  const { server } = await sharedAgent();
  const digest = server.putBundle(bundleOf({ main: "" }));
  server.failAlways(`bundles/${digest}`, { status: 404 });
  assert.equal((await server.enqueue({ digest }).released).outcome, "rejected");
});

test("a process sees the named variables and nothing else of the agent's environment", async (t) => {
  process.env["AGENT_SECRET"] = "do not tell";
  cleanUp(t, () => delete process.env["AGENT_SECRET"]);
  const { server } = await startTestAgent(t, { taskEnvironment: { GREETING: "hello" } });
  const digest = server.putBundle(bundleOf({ main: `return process.env;` }));
  const seen = (await server.enqueue({ digest }).released).output as Record<string, string>;
  assert.equal(seen["GREETING"], "hello");
  assert.equal(seen["PATH"], process.env["PATH"]);
  assert.equal(seen["KEELSON_WORKER_DIR"], process.cwd());
  assert.notEqual(seen["TMPDIR"], process.env["TMPDIR"] ?? tmpdir());
  assert.deepEqual(
    Object.keys(seen).filter(
      (name) =>
        !/^(PATH|HOME|LANG|LC_[A-Z]+|TZ|TMPDIR|NODE_ENV|GREETING|KEELSON_WORKER_DIR|KEELSON_SANDBOX_PROCESS)$/.test(
          name,
        ),
    ),
    [],
  );
});

test("children that a run leaves behind end with its process", { timeout: 30_000 }, async () => {
  const { server } = await sharedAgent();
  const digest = server.putBundle(
    bundleOf(
      { main: `const child = spawn("sleep", ["1000"]); console.log(child.pid); process.exit(1);` },
      `import { spawn } from "node:child_process";`,
    ),
  );
  const run = server.enqueue({ digest });
  await run.released;
  await hasEnded(Number(run.output("stdout").toString()));
});

test("an output over the limit fails the run and says how large it was", async () => {
  const { server } = await sharedAgent();
  const digest = server.putBundle(bundleOf({ main: `return "x".repeat(600_000);` }));
  const { failure } = await server.enqueue({ digest }).released;
  assert.match(failure?.message ?? "", /600002 bytes; the limit is 524288/);
});

test("a deployment check answers what the bundle registered, or why it does not come up", async () => {
  const { server } = await sharedAgent();
  const ready = await server.check(server.putBundle(bundleOf({ a: "", b: "" })), ["a", "b"]);
  assert.equal(ready.status, "ready");
  assert.deepEqual(ready.entrypoints, [
    { kind: "task", declared_id: "a" },
    { kind: "task", declared_id: "b" },
  ]);
  const failed = await server.check(server.putBundle(`import "no-such-package";`));
  assert.equal(failed.status, "failed");
  assert.match(failed.error?.message ?? "", /no-such-package/);
});
