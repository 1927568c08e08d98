// Many runs are cancelled or replayed by one request, each once, and a ledger says what was done.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { decodeId, type Uuid } from "@keelson/contract";
import { sql } from "../../../src/db/sql.ts";
import { absentRunId, productionOf, startRunScene, type RunScene } from "../../support/run-scene.ts";
import { newSeed, pick as pickOf, seededRandom } from "../../support/seeded-random.ts";
import { until } from "../../support/until.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const BULK = "/v1/runs/bulk-actions";
const WAIT_MS = 60_000;

let scene: RunScene;
before(async () => {
  scene = await startRunScene({
    tasks: [{ id: "plain" }, { id: "other" }, { id: "strict" }],
    actors: [{ id: "chat" }],
  });
});
after(() => scene?.stop());
afterEach(() => scene.cancelAll());

async function create(body: object, view: RunScene = scene): Promise<Json> {
  const answer = await view.call("POST", BULK, { body });
  assert.equal(answer.status, 202, answer.text);
  return answer.body;
}

async function ended(id: string, view: RunScene = scene): Promise<Json> {
  let action: Json;
  await until("the bulk action has ended", WAIT_MS, async () => {
    action = (await view.call("GET", `${BULK}/${id}`)).body;
    return action.status !== "running";
  });
  return action;
}

async function itemsOf(id: string): Promise<Json[]> {
  const items: Json[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const query: string = cursor === "" ? "" : `&cursor=${cursor}`;
    const { status, body, text } = await scene.call("GET", `${BULK}/${id}/items?limit=50${query}`);
    assert.equal(status, 200, text);
    items.push(...body.items);
    cursor = body.next_cursor;
  }
  return items;
}

const startMany = (count: number, body: object, task = "plain"): Promise<Json[]> =>
  Promise.all(Array.from({ length: count }, () => scene.start(task, body)));

const outcomesOf = (items: readonly Json[]): Record<string, number> =>
  Object.fromEntries(
    [...new Set(items.map(({ outcome }) => outcome))].map((outcome) => [
      outcome,
      items.filter((item) => item.outcome === outcome).length,
    ]),
  );

describe("a bulk cancellation", () => {
  test("cancels the runs that match, and those alone", async () => {
    const meant = await startMany(130, { tags: ["meant"] });
    const [other] = await startMany(1, { tags: ["other"] });
    const action = await create({ action: "cancel", filter: { tag: ["meant"] }, reason: "a mistake" });
    assert.match(action.id, /^bulk_/);
    assert.deepEqual([action.status, action.matched, action.filter], ["running", 130, { tag: ["meant"] }]);
    const done = await ended(action.id);
    assert.deepEqual(
      [done.status, done.matched, done.done, done.skipped, done.failed, done.reason],
      ["completed", 130, 130, 0, 0, "a mistake"],
    );
    const items = await itemsOf(action.id);
    assert.deepEqual(new Set(items.map(({ run_id }) => run_id)), new Set(meant.map(({ id }) => id)));
    assert.equal(items.length, meant.length);
    assert.deepEqual(outcomesOf(items), { cancelled: 130 });
    const { body } = await scene.call("GET", "/v1/runs?tag=meant&status=cancelled&limit=200");
    assert.equal(body.runs.length, 130);
    assert.equal((await scene.get(other.id)).status, "queued");
  });

  test("asks running runs to stop, with the children of live runs, and skips runs that have ended", async () => {
    const lease = await scene.leased({ tags: ["mixed"] });
    const queued = await scene.start("other", { tags: ["mixed"] });
    const gone = await scene.start("other", { tags: ["mixed"] });
    await scene.cancel(gone.id);
    // A child of a run that has ended goes on, as when that run is cancelled alone.
    const child = await scene.start("other");
    await scene.server.db.query(sql`
      UPDATE runs SET parent_run_id = ${decodeId("run", gone.id)} WHERE id = ${decodeId("run", child.id)}`);
    const action = await create({ action: "cancel", filter: { tag: ["mixed"] } });
    const done = await ended(action.id);
    assert.deepEqual([done.matched, done.done, done.skipped], [3, 2, 1]);
    const byRun = new Map((await itemsOf(action.id)).map(({ run_id, outcome }) => [run_id, outcome]));
    assert.deepEqual(
      [byRun.get(lease.runId), byRun.get(queued.id), byRun.get(gone.id)],
      ["cancelled", "cancelled", "already_ended"],
    );
    assert.equal((await scene.get(lease.runId)).status, "cancel_requested");
    assert.equal((await scene.get(child.id)).status, "queued");
  });

  test("takes ids, and says of an id without a run that there is none", async () => {
    const [one, two] = await startMany(2, {});
    const absent = absentRunId(one.id);
    const ids = [one.id, absent, two.id, one.id];
    const preview = await scene.call("POST", BULK, {
      body: { action: "cancel", run_ids: ids, dry_run: true },
    });
    assert.deepEqual([preview.status, preview.body.matched], [200, 2]);
    const action = await create({ action: "cancel", run_ids: ids });
    assert.equal(action.filter, null);
    const done = await ended(action.id);
    assert.deepEqual([done.matched, done.done, done.failed], [3, 2, 1]);
    const failed = (await itemsOf(action.id)).filter(({ outcome }) => outcome === "failed");
    assert.deepEqual(
      failed.map(({ run_id, error }) => [run_id, error.code]),
      [[absent, "not_found"]],
    );
  });

  test("leaves runs alone that are created after it, and that another environment has", async () => {
    const production = await productionOf(scene);
    await production.deploy({ tasks: [{ id: "plain" }] });
    const foreign = await production.start("plain", { tags: ["when"] });
    const before = await scene.start("plain", { tags: ["when"] });
    const action = await create({ action: "cancel", filter: { tag: ["when"] } });
    scene.clock.advance(5);
    const later = await scene.start("plain", { tags: ["when"] });
    assert.equal((await ended(action.id)).matched, 1);
    assert.equal((await scene.get(before.id)).status, "cancelled");
    assert.equal((await scene.get(later.id)).status, "queued");
    assert.equal((await production.get(foreign.id)).status, "queued");
    for (const path of [`${BULK}/${action.id}`, `${BULK}/${action.id}/items`])
      assert.equal((await production.call("GET", path)).status, 404);
    assert.equal((await production.call("POST", `${BULK}/${action.id}/cancel`)).status, 404);
    const byId = await create({ action: "cancel", run_ids: [foreign.id] });
    assert.equal((await ended(byId.id)).failed, 1);
    assert.equal((await production.get(foreign.id)).status, "queued");
    await production.cancelAll();
  });

  test("is created once for an idempotency key, and is listed", async () => {
    const body = { action: "cancel", filter: { tag: ["none"] }, idempotency_key: "once" };
    const [first, again] = [await create(body), await create(body)];
    assert.equal(again.id, first.id);
    assert.deepEqual([(await ended(first.id)).matched, (await itemsOf(first.id)).length], [0, 0]);
    const { body: page } = await scene.call("GET", `${BULK}?limit=1`);
    assert.equal(page.bulk_actions[0].id, first.id);
  });

  test("is stopped by a person, and then does nothing more", async () => {
    const [run] = await startMany(1, { tags: ["stopped"] });
    // As if its turn had not come yet.
    const id = await scene.server.db.transaction(async (tx) => {
      const made = await create({ action: "cancel", filter: { tag: ["nobody"] } });
      await ended(made.id);
      await tx.query(sql`
        UPDATE bulk_actions SET status = 'running', ended_at = NULL, next_batch_at = 'infinity',
          run_filter = replace(run_filter, 'nobody', 'stopped')
        WHERE id = ${decodeId("bulk", made.id)}`);
      return made.id as string;
    });
    const stop = (): Promise<Json> => scene.call("POST", `${BULK}/${id}/cancel`);
    const stopped = await stop();
    assert.deepEqual([stopped.status, stopped.body.status], [200, "cancelled"]);
    assert.equal((await stop()).status, 200);
    await scene.server.db.query(sql`UPDATE bulk_actions SET next_batch_at = now() - interval '1 day'`);
    // Another action has its turn, and this one had none.
    await ended((await create({ action: "cancel", filter: { tag: ["nobody"] } })).id);
    assert.equal((await scene.get(run.id)).status, "queued");
    const completed = await create({ action: "cancel", filter: { tag: ["nobody"] } });
    await ended(completed.id);
    const refused = await scene.call("POST", `${BULK}/${completed.id}/cancel`);
    assert.deepEqual([refused.status, refused.body.error.code], [409, "invalid_state"]);
  });

  test("leaves an audit event with the reason, and its stop another one", async () => {
    const action = await create({ action: "cancel", filter: { tag: ["audited"] }, reason: "for the record" });
    await ended(action.id);
    const events = await scene.server.db.query<{ action: string; content: string }>(
      sql`SELECT action, content::text AS content FROM audit_events WHERE resource_id = ${action.id}`,
    );
    assert.deepEqual(
      events.map((event) => event.action),
      ["bulk_actions.create"],
    );
    assert.match(events[0]?.content ?? "", /for the record/);
  });
});

test("starts go on while a bulk action has many runs", async () => {
  for (let n = 0; n < 3; n += 1) {
    const starts = Array.from({ length: 500 }, () => ({ task: "other", tags: ["many"] }));
    const answer = await scene.call("POST", "/v1/tasks/start-batch", { body: { starts } });
    assert.equal(answer.status, 200, answer.text);
  }
  const action = await create({ action: "cancel", filter: { tag: ["many"] } });
  let meanwhile = 0;
  for (;;) {
    await scene.start("plain", { tags: ["meanwhile"] });
    if ((await scene.call("GET", `${BULK}/${action.id}`)).body.status !== "running") break;
    meanwhile += 1;
  }
  assert.ok(meanwhile > 20, `${meanwhile} starts went on beside 30 batches`);
  assert.equal((await ended(action.id)).done, 1_500);
});

describe("a bulk replay", () => {
  const finished = async (body: object, status: "succeeded" | "failed" = "failed"): Promise<string> => {
    const lease = await scene.leased({ ...body, retry: { max_attempts: 1 } });
    const failure = { kind: "application_error", message: "x", retryable: false };
    await scene.worker.finish(lease, status, status === "failed" ? { failure } : {});
    return lease.runId;
  };

  test("starts each ended run again with what it was started with, once", async () => {
    const asked = {
      ...{ payload: { week: 47 }, queue: "reports", priority: 7, concurrency_key: "k", metadata: { a: 1 } },
      tags: ["again", "weekly"],
    };
    const source = await finished(asked);
    const live = await scene.start("other", { tags: ["again"] });
    const action = await create({ action: "replay", filter: { tag: ["again"] } });
    const done = await ended(action.id);
    assert.deepEqual([done.matched, done.done, done.skipped, done.failed], [2, 1, 1, 0]);
    const items = await itemsOf(action.id);
    assert.deepEqual(
      items.map(({ run_id, outcome }) => [run_id, outcome]),
      [
        [live.id, "not_ended"],
        [source, "replayed"],
      ],
    );
    const replayed = await scene.get(items[1].new_run_id);
    const { payload, queue, priority, concurrency_key, metadata, tags, task, max_attempts } = replayed;
    assert.deepEqual({ payload, queue, priority, concurrency_key, metadata, tags }, asked);
    assert.deepEqual([task, max_attempts, replayed.status], ["plain", 1, "queued"]);
  });

  test("never replays a run that it has started", async () => {
    for (let n = 0; n < 3; n += 1) await finished({ tags: ["loop"] });
    const action = await create({ action: "replay", filter: { tag: ["loop"] } });
    assert.equal((await ended(action.id)).done, 3);
    const { body } = await scene.call("GET", "/v1/runs?tag=loop&limit=200");
    assert.equal(body.runs.length, 6);
  });

  test("names a version, and refuses one that there is not", async () => {
    const source = await finished({ tags: ["pinned"] });
    const version = (await scene.get(source)).deployment_version;
    await scene.deploy({
      tasks: [{ id: "plain" }, { id: "other" }, { id: "strict" }],
      actors: [{ id: "chat" }],
    });
    const action = await create({
      action: "replay",
      filter: { tag: ["pinned"] },
      deployment_version: version,
    });
    await ended(action.id);
    const [{ new_run_id }] = (await itemsOf(action.id)) as [Json];
    assert.equal((await scene.get(new_run_id)).deployment_version, version);
    const wrong = { action: "replay", filter: { tag: ["pinned"] }, deployment_version: "nope" };
    const refused = await scene.call("POST", BULK, { body: wrong });
    assert.deepEqual([refused.status, refused.body.error.code], [400, "invalid_request"]);
    assert.match(refused.body.error.message, /deployment_version/);
  });

  test("sets aside a run that cannot start, with the reason, and goes on with the others", async () => {
    const good = await finished({ tags: ["partly"] });
    const session = await scene.call("POST", "/v1/sessions", { body: { actor: "chat", tags: ["partly"] } });
    assert.equal(session.status, 201, session.text);
    const turn = session.body.current_run_id;
    await scene.cancel(turn);
    const strict = await scene.start("strict", { tags: ["partly"], payload: "text" });
    await scene.cancel(strict.id);
    const schema = { type: "object" };
    await scene.deploy({
      tasks: [{ id: "plain" }, { id: "other" }, { id: "strict", payload_schema: schema }],
      actors: [{ id: "chat" }],
    });
    const action = await create({ action: "replay", run_ids: [good, turn, strict.id] });
    const done = await ended(action.id);
    assert.deepEqual([done.done, done.failed], [1, 2]);
    const errors = new Map((await itemsOf(action.id)).map(({ run_id, error }) => [run_id, error?.code]));
    assert.deepEqual(
      [errors.get(good), errors.get(turn), errors.get(strict.id)],
      [undefined, "invalid_state", "invalid_payload"],
    );
  });

  test("sets aside a run that the database refuses, and each other run of its batch is replayed", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.push(await finished({ tags: ["odd"] }));
    const odd = ids[2] as string;
    // What no release writes: its priority is beyond what a new row may have.
    await scene.server.db.query(sql`UPDATE runs SET retry = '{' WHERE id = ${decodeId("run", odd)}`);
    const action = await create({ action: "replay", filter: { tag: ["odd"] } });
    const done = await ended(action.id);
    assert.deepEqual([done.done, done.failed, done.matched], [4, 1, 5]);
    const failed = (await itemsOf(action.id)).filter(({ outcome }) => outcome === "failed");
    assert.deepEqual(
      failed.map(({ run_id, error }) => [run_id, error.code]),
      [[odd, "internal"]],
    );
    await scene.server.db.query(sql`
      UPDATE runs SET retry = (SELECT retry FROM runs WHERE id = ${decodeId("run", ids[0] as string)})
      WHERE id = ${decodeId("run", odd)}`);
  });
});

describe("a dry run", () => {
  test("counts what the list has, for any filter, and changes nothing", async () => {
    const random = seededRandom(newSeed());
    const pick = <T>(values: readonly T[]): T => pickOf(random, values);
    for (let n = 0; n < 40; n += 1) {
      const tags = ["dry", pick(["a", "b"])];
      const run = await scene.start(pick(["plain", "other"]), { tags, priority: pick([0, 5]) });
      if (random() < 0.4) await scene.cancel(run.id);
    }
    const [before] = await counts();
    for (let n = 0; n < 30; n += 1) {
      const filter: Json = { tag: ["dry"] };
      if (random() < 0.5) filter.status = pick([["queued"], ["cancelled"], ["queued", "cancelled"]]);
      if (random() < 0.4) filter.task = pick(["plain", "other", "absent"]);
      if (random() < 0.4) filter.tag = ["dry", pick(["a", "b"])];
      if (random() < 0.3) filter.priority = pick([0, 5]);
      const query = new URLSearchParams({ limit: "200" });
      for (const [name, value] of Object.entries(filter))
        for (const one of [value].flat()) query.append(name, String(one));
      const { runs } = (await scene.call("GET", `/v1/runs?${query}`)).body;
      const action = pick(["cancel", "replay"]);
      const { status, body } = await scene.call("POST", BULK, { body: { action, filter, dry_run: true } });
      assert.equal(status, 200, JSON.stringify(body));
      const ids = runs.slice(0, 10).map(({ id }: Json) => id);
      assert.deepEqual(body, {
        ...{ dry_run: true, action, matched: runs.length, more_matched: false, sample_run_ids: ids },
      });
    }
    assert.deepEqual((await counts())[0], before);
  });

  const counts = (): Promise<object[]> =>
    scene.server.db.query(sql`
      SELECT (SELECT count(*) FROM bulk_actions) AS actions, (SELECT count(*) FROM runs) AS runs,
        (SELECT count(*) FROM executions WHERE status = 'queued') AS queued`);

  test("says that there are more than it counts", async () => {
    const run = await scene.start("plain");
    await scene.cancel(run.id);
    const { body: project } = await scene.call("GET", `/v1/runs/${run.id}`);
    await scene.server.db.query(sql`
      INSERT INTO runs (environment_id, id, project_id, entrypoint_kind, entrypoint, deployment_id, deployment_version, queue,
        priority, retry, created_at)
      SELECT r.environment_id, ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, r.project_id, 'task', 'many',
        r.deployment_id, r.deployment_version, r.queue, 0, r.retry, '2001-01-01'
      FROM runs r, generate_series(1, 10001) n WHERE r.id = ${decodeId("run", project.id) as Uuid<"run">}`);
    const preview = async (): Promise<[number, boolean]> => {
      const body = { action: "cancel", filter: { task: "many" }, dry_run: true };
      const answer = await scene.call("POST", BULK, { body });
      return [answer.body.matched, answer.body.more_matched];
    };
    assert.deepEqual(await preview(), [10_000, true]);
    await scene.server.db.query(sql`DELETE FROM runs WHERE id = '00000000-0000-7000-8000-000000000001'`);
    assert.deepEqual(await preview(), [10_000, false]);
    await scene.server.db.query(sql`DELETE FROM runs WHERE entrypoint = 'many'`);
  });
});

describe("a bulk action is refused", () => {
  const refusals: readonly [string, object, RegExp][] = [
    ["without runs", { action: "cancel" }, /filter: say which runs/],
    ["with an empty filter", { action: "cancel", filter: {} }, /"all": true/],
    ["with a filter of empty lists", { action: "cancel", filter: { tag: [], status: [] } }, /say which runs/],
    ["with all and a filter", { action: "cancel", filter: { all: true, task: "plain" } }, /filter\.all/],
    ["with ids and a filter", { action: "cancel", filter: { all: true }, run_ids: ["run_1"] }, /either/],
    ["with an id of something else", { action: "cancel", run_ids: ["tok_1"] }, /run_ids\.0/],
    ["with a field that no filter has", { action: "cancel", filter: { tasks: "plain" } }, /tasks/],
    [
      "with a version to cancel in",
      { action: "cancel", filter: { all: true }, deployment_version: "1" },
      /replay/,
    ],
    ["with no id", { action: "cancel", run_ids: [] }, /run_ids/],
    ["with another action", { action: "delete", filter: { all: true } }, /action/],
  ];
  for (const [name, body, message] of refusals)
    test(name, async () => {
      const answer = await scene.call("POST", BULK, { body });
      assert.deepEqual([answer.status, answer.body.error?.code], [400, "invalid_request"]);
      assert.match(answer.body.error.message, message);
    });
});
