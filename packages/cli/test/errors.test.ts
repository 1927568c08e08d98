import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { failRun } from "../../server/test/support/failed-run.ts";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { environmentOf, keelson, type Outcome } from "./support.ts";

let scene: RunScene;
let env: Record<string, string>;
let runId: string;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }] });
  env = environmentOf(scene.server);
  runId = await failRun(scene, "plain", {
    message: "no price of 17",
    stack: "RangeError: no price of 17\n    at charge (src/bill.ts:3:1)",
  });
});
after(() => scene.stop());

/** Runs `keelson error …`, which must do what it was asked to. */
async function error(...args: readonly string[]): Promise<Outcome> {
  const outcome = await keelson(["error", ...args], { env });
  assert.equal(outcome.code, 0, outcome.stderr);
  return outcome;
}

suite("error groups on the command line", () => {
  test("are listed, shown, resolved, muted and opened", async () => {
    const { error_groups: groups } = JSON.parse((await error("list", "--json")).stdout);
    assert.equal(groups.length, 1);
    const { id } = groups[0];
    const table = (await error("list", "--order", "count", "--status", "open")).stdout;
    assert.match(table, /^ERROR +STATUS +RUNS +LAST +TASKS AND ACTORS +TITLE\n/);
    assert.match(table, new RegExp(`${id} +open +1 .*RangeError: no price of 17`));
    const shown = (await error("get", id)).stdout;
    assert.match(shown, /where +charge \(src\/bill\.ts\)/);
    assert.match(shown, new RegExp(`last run +${runId}`));
    for (const [verb, status] of [
      ["resolve", "resolved"],
      ["mute", "muted"],
      ["open", "open"],
    ] as const) {
      assert.equal((await error(verb, id)).stdout, `${id} is ${status}: RangeError: no price of 17\n`);
      assert.equal(JSON.parse((await error("get", id, "--json")).stdout).status, status);
    }
    assert.equal(JSON.parse((await error("mute", id, "--json")).stdout).status, "muted");
    assert.match((await error("list", "--status", "resolved")).stderr, /No error groups match/);
  });

  test("have their runs in the list of runs", async () => {
    const { error_groups: groups } = JSON.parse((await error("list", "--json")).stdout);
    const outcome = await keelson(["run", "list", "--error", groups[0].id, "--json"], { env });
    assert.deepEqual(
      JSON.parse(outcome.stdout).runs.map(({ id }: { id: string }) => id),
      [runId],
    );
  });

  test("have runs that a search finds", async () => {
    const found = await keelson(["run", "list", "--search", 'price error:"no price"', "--json"], { env });
    assert.deepEqual(
      JSON.parse(found.stdout).runs.map(({ id }: { id: string }) => id),
      [runId],
      found.stderr,
    );
    const none = await keelson(["run", "list", "--search", "nobody", "--no-children"], { env });
    assert.match(none.stderr, /No runs match/);
    const mistaken = await keelson(["run", "list", "--search", "price cause:x"], { env });
    assert.equal(mistaken.code, 2);
    assert.match(
      mistaken.stderr,
      /--search, at character 7: there is no field cause.*\n +price cause:x\n {8}\^/,
    );
  });

  test("have their runs replayed together", async () => {
    const { error_groups: groups } = JSON.parse((await error("list", "--json")).stdout);
    const replay = ["run", "replay", "--all-matching", "--error", groups[0].id, "--json"];
    const counted = await keelson([...replay, "--dry-run"], { env });
    assert.equal(JSON.parse(counted.stdout).matched, 1, counted.stderr);
    const done = await keelson([...replay, "--yes", "--wait"], { env });
    assert.equal(JSON.parse(done.stdout).done, 1, done.stderr);
  });
});
