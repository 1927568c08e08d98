import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createBody, createReadyDeployment, promote, uploadBundle } from "../../support/deploy.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import { until } from "../../support/until.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const tasks = [{ id: "report" }, { id: "other" }];
const hourly = { id: "hourly", task: "report", cron: "0 * * * *", options: { tags: ["h"] } };
const yearly = { id: "yearly", task: "report", cron: "0 0 1 1 *", timezone: "Asia/Tokyo", external_id: "e" };

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks });
});
after(() => scene.stop());

const list = async (): Promise<Json[]> =>
  (await scene.call("GET", "/v1/schedules?type=declarative")).body.schedules;
const byKey = async (): Promise<Record<string, Json>> =>
  Object.fromEntries((await list()).map((schedule: Json) => [schedule.deduplication_key, schedule]));

describe("schedules that a deployment declares", () => {
  test("come with its promotion, change and go with the next one, and come back with the rollback", async () => {
    const first = await scene.deploy({ tasks, schedules: [hourly, yearly] });
    assert.deepEqual(first.schedules, [hourly, yearly]);
    const before = await byKey();
    assert.deepEqual(Object.keys(before).sort(), ["hourly", "yearly"]);
    assert.deepEqual(
      [before["yearly"].type, before["yearly"].timezone, before["yearly"].external_id],
      ["declarative", "Asia/Tokyo", "e"],
    );
    assert.deepEqual(before["hourly"].options, { tags: ["h"] });

    const changed = { ...yearly, cron: "0 0 2 1 *", task: "other" };
    const daily = { id: "daily", task: "report", cron: "0 3 * * *" };
    await scene.deploy({ tasks, schedules: [changed, daily] });
    const between = await byKey();
    assert.deepEqual(Object.keys(between).sort(), ["daily", "yearly"]);
    assert.equal(between["yearly"].id, before["yearly"].id);
    assert.deepEqual([between["yearly"].task, between["yearly"].cron], ["other", "0 0 2 1 *"]);
    assert.equal((await scene.call("GET", `/v1/schedules/${before["hourly"].id}`)).status, 404);

    await promote({ ...scene.server, call: scene.call }, first.id);
    const after = await byKey();
    assert.deepEqual(Object.keys(after).sort(), ["hourly", "yearly"]);
    assert.deepEqual(
      [after["hourly"].id, after["yearly"].id, after["yearly"].cron],
      [before["hourly"].id, before["yearly"].id, "0 0 1 1 *"],
    );
    assert.deepEqual(after["yearly"].next_run_at, before["yearly"].next_run_at);
  });

  test("are not touched when they are declared the same again", async () => {
    await scene.deploy({ tasks, schedules: [hourly, yearly] });
    const before = await list();
    await scene.deploy({ tasks, schedules: [yearly, hourly] });
    assert.deepEqual(await list(), before);
  });

  test("fire once a slot, also when they went and came back around it", async () => {
    const minutely = { id: "minutely", task: "report", cron: "* * * * *" };
    const first = await scene.deploy({ tasks, schedules: [minutely] });
    const { id } = (await list())[0];
    scene.clock.advance(60_000);
    const ledger = async (): Promise<Json[]> =>
      (await scene.call("GET", `/api/schedules/${id}/occurrences`)).body.occurrences;
    await until("the schedule to fire", 60_000, async () => (await ledger()).length > 0);
    await scene.deploy({ tasks });
    assert.deepEqual(await list(), []);
    await promote({ ...scene.server, call: scene.call }, first.id);
    scene.clock.advance(60_000);
    await until("the schedule to fire again", 60_000, async () => (await ledger()).length >= 2);
    const rows = await ledger();
    assert.equal(new Set(rows.map(({ scheduled_at }) => scheduled_at)).size, rows.length);
    assert.ok(rows.every(({ status }) => status === "fired"));
    await scene.deploy({ tasks });
    await scene.cancelAll();
  });

  test("cannot be edited, activated, deactivated or deleted by callers", async () => {
    await scene.deploy({ tasks, schedules: [hourly] });
    const [{ id }] = (await list()) as [Json];
    const definition = { task: "report", cron: "1 * * * *" };
    const attempts = [
      ["POST", "/api/schedules", { deduplication_key: "hourly", ...definition }],
      ["PUT", `/api/schedules/${id}`, definition],
      ["POST", `/api/schedules/${id}/activate`],
      ["POST", `/api/schedules/${id}/deactivate`],
      ["DELETE", `/api/schedules/${id}`],
    ] as const;
    for (const [method, path, body] of attempts) {
      const answer = await scene.call(method, path, body === undefined ? {} : { body });
      assert.deepEqual([answer.status, answer.body.error.code], [400, "schedule_is_declarative"], path);
      assert.match(answer.body.error.message, /declared in the deployed code/);
    }
  });

  test("do not take the place of one that a caller has made", async () => {
    const body = { deduplication_key: "mine", task: "report", cron: "0 0 1 1 *" };
    const made = await scene.call("POST", "/api/schedules", { body });
    const view = { ...scene.server, call: scene.call };
    const manifest = { tasks, schedules: [{ ...hourly, id: "mine" }] };
    const deployment = await createReadyDeployment(view, scene.worker.token, manifest);
    const refused = await scene.call("POST", `/v1/deployments/${deployment.id}/promote`);
    assert.deepEqual([refused.status, refused.body.error.code], [409, "already_exists"]);
    await scene.call("DELETE", `/api/schedules/${made.body.id}`);
    await promote(view, deployment.id);
    const [{ deduplication_key }] = (await list()) as [Json];
    assert.equal(deduplication_key, "mine");
    // A key whose schedule is no longer declared is a caller's to use.
    await scene.deploy({ tasks });
    const again = await scene.call("POST", "/api/schedules", { body });
    assert.deepEqual([again.status, again.body.type], [201, "imperative"]);
  });

  for (const [what, schedules, path] of [
    ["a task that the manifest lacks", [{ ...hourly, task: "absent" }], "manifest.schedules.0.task"],
    [
      "a cron expression that is none",
      [hourly, { ...yearly, cron: "every day" }],
      "manifest.schedules.1.cron",
    ],
    ["a zone that is none", [{ ...hourly, timezone: "Moon" }], "manifest.schedules.0.timezone"],
    ["a schedule declared twice", [hourly, hourly], "manifest.schedules.1.id"],
    [
      "a time to live of nothing",
      [{ ...hourly, options: { ttl: "0s" } }],
      "manifest.schedules.0.options.ttl",
    ],
    ["a payload", [{ ...hourly, payload: 1 }], "manifest.schedules.0.payload"],
  ] as const) {
    test(`are refused with ${what}`, async () => {
      await uploadBundle({ ...scene.server, call: scene.call });
      const body = createBody({ tasks, schedules: [...schedules] });
      const answer = await scene.call("POST", "/v1/deployments", { body });
      assert.deepEqual([answer.status, answer.body.error.code], [400, "invalid_request"], answer.text);
      assert.deepEqual(
        answer.body.error.details.issues.map((issue: Json) => issue.path),
        [path],
      );
    });
  }
});
