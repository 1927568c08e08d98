import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { bundleOf } from "./support/bundles.ts";
import { sharedAgent } from "./support/start-test-agent.ts";
import { cleanUp } from "./support/clean-up.ts";
import { until } from "../../server/test/support/until.ts";

async function pidFile(t: TestContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "keelson-killed-"));
  cleanUp(t, () => rm(dir, { recursive: true }));
  return join(dir, "pid");
}

/** The first process that loads it stops there, after it has written its id. */
const stopsOnce = (file: string): string => `
  import { existsSync, writeFileSync, renameSync } from "node:fs";
  if (!existsSync(${JSON.stringify(file)})) {
    writeFileSync(${JSON.stringify(`${file}.new`)}, String(process.pid));
    renameSync(${JSON.stringify(`${file}.new`)}, ${JSON.stringify(file)});
    await new Promise(() => setInterval(() => {}, 1000));
  }`;

async function killWhenThere(file: string, signal: NodeJS.Signals): Promise<void> {
  await until("the process to write its id", 60_000, async () => existsSync(file));
  process.kill(Number(readFileSync(file, "utf8")), signal);
}

test("a SIGKILL from outside while a bundle is imported hands the run back, and says why", async (t) => {
  const { server } = await sharedAgent();
  const file = await pidFile(t);
  const digest = server.putBundle(bundleOf({ main: `return 1` }, stopsOnce(file)));
  const run = server.enqueue({ digest });
  await killWhenThere(file, "SIGKILL");
  const { outcome, failure } = await run.released;
  assert.deepEqual([outcome, failure?.kind], ["rejected", "lease_lost"]);
  assert.match(failure?.message ?? "", /ended the process by SIGKILL/);
  assert.deepEqual(
    run.operations.map(({ kind }) => kind),
    ["release"],
  );
  assert.equal((await server.enqueue({ digest }).released).outcome, "succeeded");
});

/** Every process that loads it writes its id, and goes on when there is a second file. */
const waitsFor = (file: string, goOn: string): string => `
  import { existsSync, writeFileSync, renameSync } from "node:fs";
  writeFileSync(${JSON.stringify(`${file}.new`)}, String(process.pid));
  renameSync(${JSON.stringify(`${file}.new`)}, ${JSON.stringify(file)});
  while (!existsSync(${JSON.stringify(goOn)})) await new Promise((resolve) => setTimeout(resolve, 5));`;

test("a SIGTERM to the group of the agent's processes ends no import: ending is the agent's to decide", async (t) => {
  const { server } = await sharedAgent();
  const file = await pidFile(t);
  const digest = server.putBundle(bundleOf({ main: `return process.pid` }, waitsFor(file, `${file}.go-on`)));
  const run = server.enqueue({ digest });
  await killWhenThere(file, "SIGTERM");
  await writeFile(`${file}.go-on`, "");
  const { outcome, output } = await run.released;
  assert.deepEqual([outcome, output], ["succeeded", Number(readFileSync(file, "utf8"))]);
});

test("a SIGKILL from outside while a run is under way hands it back after its start", async () => {
  const { server } = await sharedAgent();
  const digest = server.putBundle(
    bundleOf({ main: `console.log(process.pid); await new Promise(() => setInterval(() => {}, 1000));` }),
  );
  const run = server.enqueue({ digest });
  await run.outputHas("stdout", "\n");
  process.kill(Number(run.output("stdout").toString()), "SIGKILL");
  const { outcome, failure } = await run.released;
  assert.deepEqual([outcome, failure?.kind], ["rejected", "lease_lost"]);
  assert.equal(run.operations[0]?.kind, "start");
});

test("a bundle that cannot be fetched hands the run back, and says why", async () => {
  const { server } = await sharedAgent();
  const digest = server.putBundle(bundleOf({ main: "" }));
  server.failAlways(`bundles/${digest}`, { status: 404 });
  const { outcome, failure } = await server.enqueue({ digest }).released;
  assert.deepEqual([outcome, failure?.kind], ["rejected", "lease_lost"]);
  assert.match(failure?.message ?? "", /could not get the bundle/);
});

test("a SIGKILL from outside during a check says nothing of the bundle", async (t) => {
  const { server } = await sharedAgent();
  const file = await pidFile(t);
  const digest = server.putBundle(bundleOf({ main: "" }, stopsOnce(file)));
  const checked = server.check(digest);
  await killWhenThere(file, "SIGKILL");
  const { status, error } = await checked;
  assert.equal(status, "interrupted");
  assert.match(error?.message ?? "", /SIGKILL/);
  assert.equal((await server.check(digest)).status, "ready");
});
