import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { countEnded } from "../../server/test/support/count-runs.ts";
import { failRun } from "../../server/test/support/failed-run.ts";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { environmentOf, keelson } from "./support.ts";

const COLUMNS = 80;

let scene: RunScene;
let env: Record<string, string>;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }, { id: "a-task-with-a-name-of-length" }] });
  env = environmentOf(scene.server);
  await failRun(scene, "plain", { message: "no" });
  await scene.start("plain");
  await scene.worker.finish(await scene.worker.takeOne());
  await countEnded(scene.server.db, scene.clock.now);
});
after(() => scene.stop());

async function metrics(...args: readonly string[]): Promise<string> {
  const outcome = await keelson(["run", "metrics", ...args], { env });
  assert.equal(outcome.code, 0, outcome.stderr);
  return outcome.stdout;
}

suite("metrics of runs on the command line", () => {
  test("are a few lines, and a table of tasks and actors that fits a terminal", async () => {
    const text = await metrics();
    assert.match(text, /^ended +2 \(1 succeeded, 0 cancelled\)$/m);
    assert.match(text, /^failure rate +50\.0 %$/m);
    assert.match(text, /^queue time +p50 \S+ m?s, p95 \S+ m?s, p99 \S+ m?s$/m);
    assert.match(text, /^TASK OR ACTOR +ENDED +FAILED +QUEUED P95 +P50 +P95 +LAST RUN$/m);
    assert.match(text, /^plain +2 +50\.0 % +/m);
    assert.match(text, /^a-task-with-a-name-of-length +0 +– +– +– +– +–$/m);
    // Without a terminal the last column has a whole time.
    for (const line of text.split("\n"))
      assert.ok(line.replace(/\d{4}-\S+Z$/, "9m ago").length <= COLUMNS, line);
  });

  test("of one task are a table over time", async () => {
    const text = await metrics("--task", "plain", "--window", "1h");
    assert.match(text, /^SINCE +ENDED +FAILED +QUEUED P95 +P50 +P95\n\S+Z +\d/m);
    const none = await keelson(["run", "metrics", "--task", "unknown"], { env });
    assert.match(none.stderr, /No run ended in this time/);
  });

  test("are JSON for programs", async () => {
    const all = JSON.parse(await metrics("--json", "--window", "7d"));
    assert.deepEqual([all.window, all.total.ended, all.entrypoints.length], ["7d", 2, 2]);
    const one = JSON.parse(await metrics("--json", "--task", "plain"));
    assert.deepEqual([one.task, one.total.failure_rate, one.gauges], ["plain", 0.5, null]);
  });

  test("refuse what cannot be asked for", async () => {
    for (const args of [
      ["--window", "2h"],
      ["--task", "a", "--actor", "b"],
    ]) {
      const outcome = await keelson(["run", "metrics", ...args], { env });
      assert.notEqual(outcome.code, 0);
      assert.match(outcome.stderr, /--window|--actor/);
    }
  });
});
