// Whose fault it is that a setup command of a sandbox did not end well: the author's, or that of what it ran on.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { InfrastructureError } from "../src/deaths/death.ts";
import { sendSignal } from "../src/sandboxes/find-processes.ts";
import { readRecord } from "../src/supervisor/end-leftovers.ts";
import { supervisorFolder } from "../src/supervisor/supervisor-folder.ts";
import { runSetup } from "../src/workspaces/run-setup.ts";
import { until } from "../../server/test/support/until.ts";
import { startTestSupervisor, tiersHere, type TestSupervisor } from "./support/start-test-supervisor.ts";

async function failureOf(scene: TestSupervisor, commands: readonly string[]): Promise<Error> {
  const outcome = await runSetup(scene.supervisor, commands, new AbortController().signal).catch(
    (error: unknown) => error,
  );
  assert.ok(outcome instanceof Error, "it went well");
  return outcome;
}

/** Runs a command that would take long, and acts once it has begun. */
async function interrupt(scene: TestSupervisor, act: () => Promise<void>): Promise<Error> {
  const failing = failureOf(scene, ["true", "echo > begun; sleep 1000"]);
  await until("the command has begun", 60_000, async () => existsSync(join(scene.root, "begun")));
  await act();
  return failing;
}

for (const { isolation, skip } of await tiersHere())
  describe(`a setup in the ${isolation} tier`, { skip }, () => {
    test("fails by its author's command, with what that printed", async (t) => {
      const scene = await startTestSupervisor(t, isolation);
      const failure = await failureOf(scene, ["true", "echo the reason >&2; exit 7", "echo > never"]);
      assert.ok(!(failure instanceof InfrastructureError));
      assert.match(failure.message, /setup command 2 of 3 ended with exit code 7\. .*\nthe reason$/);
      assert.ok(!existsSync(join(scene.root, "never")));
    });

    test("that is killed from outside is no fault of its author's", async (t) => {
      const scene = await startTestSupervisor(t, isolation);
      const failure = await interrupt(scene, async () => {
        for (const pid of scene.left()) sendSignal(pid, "SIGKILL");
      });
      assert.ok(failure instanceof InfrastructureError, String(failure));
      assert.match(failure.message, /setup command 2 of 2 ended with SIGKILL/);
    });

    test("whose supervisor is killed is no fault of its author's", async (t) => {
      const scene = await startTestSupervisor(t, isolation);
      const record = await readRecord(supervisorFolder(scene.dataDir, scene.materializationId));
      const failure = await interrupt(scene, async () => void sendSignal(record?.pid ?? -1, "SIGKILL"));
      assert.ok(failure instanceof InfrastructureError, String(failure));
      assert.match(failure.message, /setup command 2 of 2 was interrupted: its supervisor ended/);
    });
  });
