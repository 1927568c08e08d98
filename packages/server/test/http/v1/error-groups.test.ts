// Runs that failed in the same way are one error group, which people resolve, mute and open.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { decodeId, encodeId } from "@keelson/contract";
import { countErrors } from "../../../src/core/error-groups/count-errors.ts";
import { sql } from "../../../src/db/sql.ts";
import { exportedEvents } from "../../support/audit.ts";
import { failRun, releaseFailed, type FailureText } from "../../support/failed-run.ts";
import { recordQueries } from "../../support/record-queries.ts";
import { productionOf, startRunScene, type RunScene } from "../../support/run-scene.ts";
import { firstOrganization } from "../../support/tenancy.ts";
import { until } from "../../support/until.ts";

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

let scene: RunScene;
before(async () => {
  const retry = { max_attempts: 2, initial_delay: "1s" };
  scene = await startRunScene({ tasks: [{ id: "plain" }, { id: "other" }, { id: "again", retry }] });
});
after(() => scene.stop());
afterEach(() => scene.cancelAll());

let made = 0;
/** A failure as no other test has it. */
const failure = (): FailureText => {
  const name = `N${"abcdefghijklmnopqrstuvwxyz"[made++]}Error`;
  return { message: `no ${made}`, stack: `${name}: no ${made}\n    at work (src/work.ts:${made}:1)` };
};
const groupOfRun = async (runId: string): Promise<string> => (await scene.get(runId)).error_group_id;
const getGroup = async (id: string): Promise<Json> => {
  const answer = await scene.call("GET", `/v1/error-groups/${id}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
};
const list = async (query = ""): Promise<Json[]> =>
  (await scene.call("GET", `/v1/error-groups?limit=200${query}`)).body.error_groups;
const runsOf = async (id: string, query = ""): Promise<string[]> =>
  (await scene.call("GET", `/v1/runs?error_group_id=${id}${query}`)).body.runs.map((run: Json) => run.id);
const change = async (id: string, verb: string): Promise<Json> => {
  const answer = await scene.call("POST", `/v1/error-groups/${id}/${verb}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
};
/** Waits until the group is as the loop leaves it. */
const becomes = async (id: string, what: string, holds: (group: Json) => boolean): Promise<Json> => {
  await until(what, 30_000, async () => holds(await getGroup(id)));
  return getGroup(id);
};
const counted = (id: string): Promise<Json> =>
  becomes(id, "the runs are counted", (group) => group.tasks.length > 0);

describe("a run that fails", () => {
  test("is in a group at once, with those that failed in the same way, whatever their values and lines", async () => {
    const first = await failRun(scene, "plain", {
      message: "no user 17",
      stack: "TypeError: no user 17\n    at find (src/users.ts:3:9)\n    at node:internal:1:1",
    });
    const id = await groupOfRun(first);
    assert.equal((await getGroup(id)).count, 1);
    const second = await failRun(scene, "other", {
      message: "no user 18",
      stack: "TypeError: no user 18\n    at find (src/users.ts:20:4)",
    });
    assert.equal(await groupOfRun(second), id);
    const group = await becomes(id, "both are counted", ({ tasks }) => tasks.length === 2);
    assert.deepEqual(
      { ...group, project_id: 0, environment_id: 0, first_seen_at: 0, last_seen_at: 0 },
      {
        ...{ id, project_id: 0, environment_id: 0, status: "open", kind: "application_error" },
        ...{ title: "TypeError: no user 17", message: "no user 17", frame: "find (src/users.ts)" },
        ...{ count: 2, tasks: ["plain", "other"], actors: [], first_seen_at: 0, last_seen_at: 0 },
        ...{ last_run_id: second, resolved_at: null, resolved_in_version: null, reopened_at: null },
      },
    );
    assert.deepEqual(await runsOf(id), [second, first]);
    assert.deepEqual(await runsOf(id, "&task=plain"), [first]);
    assert.deepEqual(await runsOf(id, "&status=failed&status=succeeded"), [second, first]);
    assert.deepEqual(await runsOf(id, "&status=succeeded"), []);
  });

  test("in another way is in another group", async () => {
    const [a, b] = [await failRun(scene, "plain", failure()), await failRun(scene, "plain", failure())];
    assert.notEqual(await groupOfRun(a), await groupOfRun(b));
  });

  test("is counted once, however often its end is reported", async () => {
    const { id } = await scene.start("plain");
    const lease = await scene.worker.takeOne();
    const end = lease.operation("release", releaseFailed(failure()));
    for (let time = 0; time < 3; time += 1) await scene.worker.report(end);
    const group = await counted(await groupOfRun(id));
    assert.deepEqual([group.count, await runsOf(group.id)], [1, [id]]);
  });

  test("is in a group only when it is not tried again", async () => {
    const { id } = await scene.start("again");
    const how = failure();
    const fail = async (): Promise<void> => {
      const { failure: failed } = releaseFailed(how) as { failure: object };
      await scene.worker.finish(await scene.worker.takeOne(), "failed", {
        failure: { ...failed, retryable: true },
      });
    };
    await fail();
    assert.equal((await scene.get(id)).error_group_id, null);
    scene.clock.advance(60_000);
    await fail();
    assert.equal((await getGroup(await groupOfRun(id))).count, 1);
  });

  test("in one report with others: each is in its group", async () => {
    const [x, y] = [failure(), failure()];
    const started = await Promise.all([1, 2, 3].map(() => scene.start("plain")));
    const leases = await scene.worker.take(3);
    const hows = [y, x, y];
    await scene.worker.report(
      ...leases.map((lease, n) => lease.operation("release", releaseFailed(hows[n] as FailureText))),
    );
    const groups = await Promise.all(leases.map(({ runId }) => groupOfRun(runId)));
    assert.equal(started.length, 3);
    assert.ok(groups[0] === groups[2] && groups[0] !== groups[1]);
    assert.deepEqual(
      [(await getGroup(groups[0] as string)).count, (await getGroup(groups[1] as string)).count],
      [2, 1],
    );
  });

  test("is not seen from another environment, where the same failure is another group", async () => {
    const production = await productionOf(scene);
    const how = failure();
    const id = await groupOfRun(await failRun(scene, "plain", how));
    for (const [method, path] of [
      ["GET", ""],
      ["POST", "/resolve"],
    ] as const)
      assert.equal((await production.call(method, `/v1/error-groups/${id}${path}`)).status, 404);
    assert.deepEqual((await production.call("GET", "/v1/error-groups")).body.error_groups, []);
  });
});

test("a run that succeeds, or is cancelled, pays nothing", async () => {
  const cancelled = await scene.start("plain");
  const [succeeded] = [await scene.start("plain")];
  const queries = await recordQueries(async () => {
    await scene.cancel(cancelled.id);
    await scene.worker.finish(await scene.worker.takeOne());
  });
  assert.equal((await scene.get(succeeded.id)).status, "succeeded");
  const writes = queries.filter(({ text }) => /INSERT INTO run_results/.test(text));
  assert.equal(writes.length, 2);
  for (const { text } of writes) assert.doesNotMatch(text, /error_group/);
  assert.deepEqual(
    queries.filter(({ text }) => /INSERT INTO error_group/.test(text)),
    [],
  );
});

describe("a group", () => {
  test("that was resolved is open again after another failure, and says in which version it was resolved", async () => {
    const how = failure();
    const id = await groupOfRun(await failRun(scene, "plain", how));
    await counted(id);
    const resolved = await change(id, "resolve");
    assert.equal(resolved.status, "resolved");
    assert.ok(resolved.resolved_at !== null && resolved.resolved_in_version !== null);
    scene.clock.advance(1_000);
    const again = await failRun(scene, "plain", how);
    const open = await becomes(id, "it is open again", ({ status }) => status === "open");
    assert.ok(Date.parse(open.reopened_at) > Date.parse(resolved.resolved_at));
    assert.deepEqual([open.count, open.last_run_id], [2, again]);
    assert.equal((await change(id, "resolve")).reopened_at, null);
  });

  test("that was muted stays muted and goes on counting", async () => {
    const how = failure();
    const id = await groupOfRun(await failRun(scene, "plain", how));
    await change(id, "mute");
    scene.clock.advance(1_000);
    const last = await failRun(scene, "plain", how);
    const group = await becomes(id, "it is counted", ({ last_run_id: run }) => run === last);
    assert.deepEqual([group.status, group.count, group.reopened_at], ["muted", 2, null]);
    assert.equal((await change(id, "open")).status, "open");
  });

  test("has each change in the audit log, and a repeated one changes nothing", async () => {
    const id = await groupOfRun(await failRun(scene, "plain", failure()));
    for (const verb of ["resolve", "resolve", "mute", "open", "open"]) await change(id, verb);
    const organization = encodeId("org", (await firstOrganization(scene.server)) as never);
    const events = await exportedEvents(scene.server, organization);
    assert.deepEqual(
      events.filter(({ resource }) => resource?.id === id).map(({ action }) => action),
      ["error_groups.resolve", "error_groups.mute", "error_groups.open"],
    );
  });

  test("that was dropped while a run failed so is made again by the count", async () => {
    const how = failure();
    const id = await groupOfRun(await failRun(scene, "plain", how));
    await counted(id);
    await scene.server.db.query(sql`DELETE FROM error_groups WHERE id = ${decodeId("err", id)}`);
    await scene.server.db.query(sql`
      UPDATE error_group_runs SET counted = false WHERE error_group_id = ${decodeId("err", id)}`);
    await countErrors({
      db: scene.server.db,
      clock: scene.clock.now,
      noteLoopFailure: () => undefined,
    });
    const group = await getGroup(id);
    assert.deepEqual([group.count, group.message, group.status], [1, how.message, "open"]);
  });
});

describe("the list", () => {
  test("has filters and two orders, and its pages have each group once", async () => {
    const [often, late] = [failure(), failure()];
    const many = await groupOfRun(await failRun(scene, "other", often));
    for (let time = 0; time < 4; time += 1) await failRun(scene, "other", often);
    scene.clock.advance(5_000);
    const since = new Date(scene.clock.now()).toISOString();
    const last = await groupOfRun(await failRun(scene, "plain", late));
    await becomes(many, "all are counted", ({ tasks }) => tasks.length > 0);
    await counted(last);
    await change(last, "mute");
    const idsOf = (groups: Json[]): string[] => groups.map(({ id }) => id);
    assert.equal(idsOf(await list())[0], last);
    await until(
      "the order is by all counts",
      30_000,
      async () => idsOf(await list("&order=count"))[0] === many,
    );
    assert.deepEqual(idsOf(await list(`&seen_since=${since}`)), [last]);
    assert.deepEqual(idsOf(await list("&status=muted")), [last]);
    assert.ok(!idsOf(await list("&task=plain")).includes(many));
    assert.ok(idsOf(await list("&task=other")).includes(many));
    assert.deepEqual(await list("&actor=chat"), []);
    for (const order of ["last_seen", "count"]) {
      const whole = idsOf(await list(`&order=${order}`));
      const paged: string[] = [];
      for (let cursor: string | null = ""; cursor !== null;) {
        const query: string = cursor === "" ? "" : `&cursor=${cursor}`;
        const { body } = await scene.call("GET", `/v1/error-groups?order=${order}&limit=2${query}`);
        paged.push(...idsOf(body.error_groups));
        cursor = body.next_cursor;
      }
      assert.deepEqual(paged, whole);
    }
  });

  test("refuses what is no filter", async () => {
    for (const query of ["status=closed", "order=oldest", "seen_since=yesterday"])
      assert.equal((await scene.call("GET", `/v1/error-groups?${query}`)).status, 400, query);
    assert.equal((await scene.call("GET", "/v1/runs?error_group_id=x")).status, 400);
    const absent = encodeId("err", "00000000-0000-8000-8000-000000000000");
    assert.deepEqual(await runsOf(absent), []);
  });
});
