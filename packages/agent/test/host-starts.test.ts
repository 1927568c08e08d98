// What is said of a process that never came to the bundle.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { HostSpec } from "../src/task-hosts/host-key.ts";
import { HostProgram } from "../src/task-hosts/host-program.ts";
import { bundleOf } from "./support/bundles.ts";
import { startTestAgent } from "./support/start-test-agent.ts";

describe("a process that does not come to the bundle", () => {
  test("fails neither a deployment nor a run, and the cause is said", async (t) => {
    const { server } = await startTestAgent(t, {
      // Node ends before anything of ours runs, while this file is not there.
      taskEnvironment: { NODE_OPTIONS: "--require=./not-there-yet.cjs" },
    });
    const digest = server.putBundle(bundleOf({ main: "return 1;" }));
    const { status, error } = await server.check(digest);
    assert.equal(status, "interrupted", JSON.stringify(error));
    assert.match(error?.message ?? "", /^The worker could not start a process: .*not-there-yet/s);
    const { outcome, failure } = await server.enqueue({ digest }).released;
    assert.deepEqual([outcome, failure?.kind], ["rejected", "lease_lost"]);
    assert.match(failure?.message ?? "", /^The worker could not start a process: .*not-there-yet/s);
  });

  for (const isolation of ["process", "namespace"] as const)
    test(`in the ${isolation} tier has had no time to run, whatever the clock says`, () => {
      const spec = { isolation, memoryMb: null } as HostSpec;
      const program = new HostProgram(spec, process.pid, () => undefined);
      assert.equal(program.pid, undefined);
      program.up();
      assert.ok(program.pid !== undefined);
    });
});
