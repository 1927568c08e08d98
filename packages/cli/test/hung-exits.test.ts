// A process that has said that it ends, and hangs, is ended by whoever started it.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { makeTestFolder, removeTestFolder } from "../../server/test/support/test-folder.ts";
import { isAlive } from "../../server/src/embedded-postgres/postmaster-pid.ts";
import { keepAgent } from "../src/up/keep-agent.ts";
import { until } from "./up-site.ts";

const RUN_NODE = join(import.meta.dirname, "../bin/run-node.mjs");
const HANGS = 'process.send({ exitCode: 3 }); process.on("SIGTERM", () => {}); setInterval(() => {}, 1000);';
const SOON_MS = 10_000;

test("the starter ends with the code that a hanging child said", async () => {
  const script = `(await import(${JSON.stringify(RUN_NODE)})).runNode(process.execPath, ["--eval", ${JSON.stringify(HANGS)}])`;
  const starter = spawn(process.execPath, ["--input-type=module", "--eval", script]);
  const [code, signal] = (await once(starter, "exit", { signal: AbortSignal.timeout(SOON_MS) })) as unknown[];
  assert.deepEqual([code, signal], [3, null]);
});

test("an agent that hangs when it ends holds up nothing", async () => {
  await using folder = await makeFolder();
  const mark = join(folder.path, "hangs");
  const script = `${HANGS} require("node:fs").writeFileSync(${JSON.stringify(mark)}, String(process.pid))`;
  const said: string[] = [];
  const agent = keepAgent([process.execPath, "--eval", script], { ...process.env }, (text) =>
    said.push(text),
  );
  await until(
    () => existsSync(mark) && readFileSync(mark, "utf8") !== "",
    SOON_MS,
    () => "It never began.",
  );
  const pid = Number(readFileSync(mark, "utf8"));
  // It never ends by itself: if it were not killed, this would not resolve, and the file would not end.
  await agent.stop();
  assert.equal(isAlive(pid), false);
  assert.deepEqual(said, []);
});

async function makeFolder() {
  const path = await makeTestFolder();
  return { path, [Symbol.asyncDispose]: () => removeTestFolder(path) };
}
