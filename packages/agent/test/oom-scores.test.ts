import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { EXPENDABLE_SCORE } from "../src/limits/spawn-expendable.ts";
import { readRecord } from "../src/supervisor/end-leftovers.ts";
import { supervisorFolder } from "../src/supervisor/supervisor-folder.ts";
import { until } from "../../server/test/support/until.ts";
import { bundleOf } from "./support/bundles.ts";
import { startTestAgent } from "./support/start-test-agent.ts";
import { startTestSupervisor, tiersHere } from "./support/start-test-supervisor.ts";

const scoreOf = (pid: number | "self"): number =>
  Number(readFileSync(`/proc/${pid}/oom_score_adj`, "latin1"));
/** Whether what this process starts may not have a lower score than it was started with: only this right can see to that. */
const CAP_SYS_RESOURCE = 1n << 24n;
const holdsScores = (): boolean => {
  const rights = /^CapEff:\t([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "latin1"))?.[1] ?? "0";
  return (BigInt(`0x${rights}`) & CAP_SYS_RESOURCE) !== 0n;
};
const skipped = process.platform === "linux" ? false : "only Linux has scores";
/** A child's, too. */
const TELL = "cat /proc/self/oom_score_adj; sh -c 'cat /proc/$$/oom_score_adj'";

for (const { isolation, skip } of await tiersHere()) {
  test(
    `a program in the ${isolation} tier is ended before agent and supervisor when memory runs out`,
    { skip: skipped || skip },
    async (t) => {
      const before = scoreOf("self");
      const { run, collect, begin, dataDir, materializationId } = await startTestSupervisor(t, isolation);
      const { stdout } = await run(["sh", "-c", TELL]);
      assert.deepEqual(stdout.toString().trim().split("\n").map(Number), [
        EXPENDABLE_SCORE,
        EXPENDABLE_SCORE,
      ]);
      const id = await begin(["sh", "-c", TELL], { kind: "pty", cols: 80, rows: 24 });
      const { output } = await collect(id);
      assert.deepEqual(output.toString().trim().split(/\s+/).map(Number), [
        EXPENDABLE_SCORE,
        EXPENDABLE_SCORE,
      ]);
      const lowering = await run(["sh", "-c", "echo 0 > /proc/self/oom_score_adj"]);
      assert.equal(lowering.exitCode === 0, !holdsScores());
      const record = await readRecord(supervisorFolder(dataDir, materializationId));
      // While it starts the launcher for the next program, it has that one's score for a moment.
      const { pid = -1 } = record ?? {};
      await until("the supervisor has its own score", 5_000, () => Promise.resolve(scoreOf(pid) === before));
      assert.equal(scoreOf("self"), before);
    },
  );
}

test("a task is ended before its agent when memory runs out", { skip: skipped }, async (t) => {
  const before = scoreOf("self");
  const { server } = await startTestAgent(t);
  const source = bundleOf(
    { main: `return Number(readFileSync("/proc/self/oom_score_adj", "latin1"));` },
    `import { readFileSync } from "node:fs";`,
  );
  const { output } = await server.enqueue({ digest: server.putBundle(source) }).released;
  assert.equal(output, EXPENDABLE_SCORE);
  assert.equal(scoreOf("self"), before);
});
