import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Schedule } from "@keelson/contract";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { until } from "../../server/test/support/until.ts";
import { environmentOf, keelson, type Outcome } from "./support.ts";

const TASKS = [{ id: "report" }, { id: "other" }];

let scene: RunScene;
let env: Record<string, string>;
before(async () => {
  scene = await startRunScene({ tasks: TASKS });
  env = environmentOf(scene.server);
});
after(() => scene.stop());

/** Runs `keelson schedule …`, which must do what it was asked to. */
async function schedule(...args: readonly string[]): Promise<Outcome> {
  const outcome = await keelson(["schedule", ...args], { env });
  assert.equal(outcome.code, 0, outcome.stderr);
  return outcome;
}

async function create(key: string, task: string, ...more: readonly string[]): Promise<Schedule> {
  const args = ["create", "--key", key, "--task", task, "--cron", "* * * * *", "--json", ...more];
  return JSON.parse((await schedule(...args)).stdout) as Schedule;
}

/** Lets minutes pass, until so many times of the schedule have come due. @returns the table's rows. */
async function occurrences(id: string, minutes: number, count: number): Promise<string[][]> {
  scene.clock.advance(minutes * 60_000);
  let rows: string[][] = [];
  await until(`${count} times of the schedule to have come due`, 60_000, async () => {
    const { stdout } = await schedule("occurrences", id);
    rows = stdout.split("\n").map((line) => line.split(/ {2,}/));
    return rows.length >= count + 2;
  });
  return rows;
}

suite("schedules on the command line", () => {
  test("one is made with a definition, shown and listed", async () => {
    const args =
      "create --key nightly --task report --timezone Europe/Berlin --tag a --max-attempts 2 --ttl 1h --inactive --cron";
    const made = await schedule(...args.split(" "), "30 2 * * *");
    const line = /^(sched_\w+) nightly: report at 30 2 \* \* \* \(Europe\/Berlin\), inactive\n$/;
    const [, id = ""] = line.exec(made.stdout) ?? [];
    assert.ok(id !== "", made.stdout);
    assert.match((await schedule("activate", id)).stdout, /, next \d{4}-\d\d-\d\dT0[01]:30:00\.000Z\n$/);
    const shown = JSON.parse((await schedule("get", id, "--json")).stdout) as Schedule;
    assert.partialDeepStrictEqual(shown, {
      ...{ deduplication_key: "nightly", type: "imperative", status: "active" },
      options: { tags: ["a"], retry: { max_attempts: 2 }, ttl: "1h" },
    });
    assert.match((await schedule("get", id)).stdout, /cron +30 2 \* \* \* \(Europe\/Berlin\)/);
    const listed = (await schedule("list", "--task", "report")).stdout;
    assert.match(listed, /^SCHEDULE +KEY +TASK +STATUS +CRON +NEXT\n/);
    assert.match(listed, new RegExp(`${id} +nightly +report +active `));
    assert.match((await schedule("deactivate", id)).stdout, /, inactive\n$/);
  });

  test("a deletion has no data, and an object with --json", async () => {
    const [first, second] = [await create("first", "report"), await create("second", "report")];
    const gone = await schedule("delete", first.id);
    assert.deepEqual([gone.stdout, gone.stderr], ["", `Deleted ${first.id}\n`]);
    const json = await schedule("delete", second.id, "--json");
    assert.deepEqual(JSON.parse(json.stdout), { id: second.id, deleted: true });
    assert.equal((await keelson(["schedule", "get", first.id], { env })).code, 4);
  });

  test("what came due shows its run or the reason, and one that starts nothing says why", async () => {
    const { id } = await create("minutely", "other");
    const [head, newest, missed] = await occurrences(id, 2, 2);
    assert.deepEqual(head, ["DUE", "STATUS", "RUN OR REASON"]);
    assert.deepEqual(newest?.slice(1, 2), ["fired"]);
    assert.match(newest?.[2] ?? "", /^run_/);
    assert.match(missed?.slice(1).join(" ") ?? "", /^skipped .*no server/i);
    await scene.deploy({ tasks: [{ id: "report" }] });
    const [, refused] = await occurrences(id, 1, 3);
    assert.match(refused?.slice(1).join(" ") ?? "", /^skipped .*other/);
    assert.match((await schedule("activate", id)).stdout, /; errored: .*other/);
    await scene.deploy({ tasks: TASKS });
    await schedule("delete", id);
  });

  test("a declared one is not changed here, and the refusal says so", async () => {
    await scene.deploy({ tasks: TASKS, schedules: [{ id: "declared", task: "report", cron: "0 0 1 1 *" }] });
    const listed = JSON.parse((await schedule("list", "--json")).stdout) as { schedules: Schedule[] };
    const declared = listed.schedules.find(({ type }) => type === "declarative");
    const { code, stderr } = await keelson(["schedule", "deactivate", declared?.id ?? ""], { env });
    assert.equal(code, 1);
    assert.match(stderr, /schedule_is_declarative/);
  });
});
