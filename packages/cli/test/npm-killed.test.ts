// npm that is killed takes with it what it started, also where a shell stays between the two.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { bareEnvironment } from "../../server/test/support/bare-environment.ts";

const BIN = join(import.meta.dirname, "../bin");

/** Runs what its arguments say by a shell that stays, as npm does with a script. */
const NPM = `
const { spawn } = require("node:child_process");
spawn("sh", ["-c", '"$0" "$@"; exit $?', process.execPath, ...process.argv.slice(1)], { stdio: "inherit" });
`;

/** Runs until it is asked to end, as `keelson up` does. */
const LASTING = `
process.on("SIGTERM", () => { console.log("asked to end"); process.exit(0); });
setTimeout(() => process.exit(), 20_000); // Forgotten, it would keep the test's pipe open.
console.log("running");
`;

const IN_PLACE = `
const { watchNpm } = await import(${JSON.stringify(join(BIN, "watch-npm.mjs"))});
watchNpm(() => process.kill(process.pid, "SIGTERM"));
${LASTING}`;

const BELOW_STARTER = `
const { runNode } = await import(${JSON.stringify(join(BIN, "run-node.mjs"))});
runNode(process.execPath, ["--eval", ${JSON.stringify(LASTING)}]);
`;

for (const [name, script] of Object.entries({
  "in its own process": IN_PLACE,
  "on another Node": BELOW_STARTER,
}))
  test(`the command ends when npm was killed, ${name}`, { timeout: 30_000 }, async () => {
    const npm = spawn(process.execPath, ["--eval", NPM, "--", "--input-type=module", "--eval", script], {
      env: { ...bareEnvironment(), npm_lifecycle_event: "npx" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let said = "";
    for await (const bytes of npm.stdout) {
      said += String(bytes);
      if (said === "running\n") npm.kill("SIGKILL");
    }
    assert.equal(said, "running\nasked to end\n");
  });
