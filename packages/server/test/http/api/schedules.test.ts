import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { productionOf, startRunScene, type RunScene } from "../../support/run-scene.ts";
import { addUser, place } from "../../support/tenancy.ts";
import { until } from "../../support/until.ts";

const MANIFEST = {
  tasks: [
    { id: "report" },
    { id: "other" },
    {
      id: "picky",
      payload_schema: { type: "object", properties: { week: { type: "integer" } }, required: ["week"] },
    },
    { id: "narrow", queue: "narrow" },
  ],
  queues: [{ name: "narrow", concurrency_limit: 1 }],
};

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

// Short of the life of the worker's token in all.
const MINUTE_MS = 60_000;

let scene: RunScene;
before(async () => {
  scene = await startRunScene(MANIFEST);
});
after(() => scene.stop());

let made = 0;
const newKey = (): string => `key-${(made += 1)}`;

async function put(body: object, expected = 201): Promise<Json> {
  const answer = await scene.call("POST", "/api/schedules", {
    body: { deduplication_key: newKey(), task: "report", cron: "* * * * *", ...body },
  });
  assert.equal(answer.status, expected, answer.text);
  return answer.body;
}

async function get(id: string): Promise<Json> {
  const answer = await scene.call("GET", `/api/schedules/${id}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}

const occurrences = async (id: string): Promise<Json[]> =>
  (await scene.call("GET", `/api/schedules/${id}/occurrences`)).body.occurrences;

/** Waits until that many slots of the schedule are settled. @returns them, newest first. */
/** Moves the clock past a due time: by how much depends on how far off it is, so that no other comes due as well. */
const advanceTo = (due: string, afterMs = 1_000): void =>
  scene.clock.advance(Date.parse(due) + afterMs - scene.clock.now());

async function settled(id: string, count: number): Promise<Json[]> {
  let rows: Json[] = [];
  await until(`${count} occurrences`, 60_000, async () => (rows = await occurrences(id)).length >= count);
  return rows;
}

const refusal = async (method: string, path: string, body?: object): Promise<[number, string, string]> => {
  const answer = await scene.call(method, path, body === undefined ? {} : { body });
  return [answer.status, answer.body.error?.code, answer.body.error?.message];
};

describe("making schedules", () => {
  test("gives the schedule with its defaults, as item and list show it", async () => {
    const { id, created_at, updated_at, next_run_at, ...rest } = await put({ deduplication_key: "first" });
    assert.match(id, /^sched_/);
    assert.equal(updated_at, created_at);
    const minute = Math.ceil(Date.parse(created_at) / MINUTE_MS) * MINUTE_MS;
    assert.equal(next_run_at, new Date(minute).toISOString());
    assert.deepEqual(rest, {
      ...place(scene.server),
      ...{ type: "imperative", status: "active", status_reason: null },
      ...{ deduplication_key: "first", external_id: null, task: "report", cron: "* * * * *" },
      ...{ timezone: "UTC", active: true, options: {} },
      ...{ last_run_at: null, last_run_id: null, last_error: null },
    });
    const expected = { id, created_at, updated_at, next_run_at, ...rest };
    for (const family of ["api", "v1"]) {
      assert.deepEqual((await scene.call("GET", `/${family}/schedules/${id}`)).body, expected);
      const list = await scene.call("GET", `/${family}/schedules?deduplication_key=first`);
      assert.deepEqual(list.body, { schedules: [expected], next_cursor: null });
    }
  });

  test("with a known key replaces the whole definition and keeps the id", async () => {
    const options = {
      queue: "q",
      concurrency_key: "c",
      priority: 5,
      ttl: "1h",
      max_duration: "10m",
      tags: ["t"],
    };
    const first = await put({ external_id: "customer-1", timezone: "Europe/Berlin", options });
    assert.deepEqual(
      [first.external_id, first.timezone, first.options],
      ["customer-1", "Europe/Berlin", options],
    );
    const key = first.deduplication_key;
    const second = await put({ deduplication_key: key, cron: "30 2 * * *", task: "other" }, 200);
    assert.equal(second.id, first.id);
    assert.equal(second.created_at, first.created_at);
    assert.deepEqual(
      [second.task, second.cron, second.external_id, second.timezone, second.options],
      ["other", "30 2 * * *", null, "UTC", {}],
    );
    const replaced = await scene.call("PUT", `/api/schedules/${first.id}`, {
      body: { task: "report", cron: "5 * * * *", active: false },
    });
    assert.deepEqual([replaced.status, replaced.body.deduplication_key], [200, key]);
    assert.deepEqual(
      [replaced.body.active, replaced.body.status, replaced.body.next_run_at],
      [false, "inactive", null],
    );
  });

  test("leaves one that was deactivated as it is, unless it says otherwise", async () => {
    const first = await put({});
    const { deduplication_key } = first;
    await scene.call("POST", `/api/schedules/${first.id}/deactivate`);
    assert.equal((await put({ deduplication_key, cron: "7 * * * *" }, 200)).status, "inactive");
    const body = { task: "report", cron: "8 * * * *" };
    assert.equal((await scene.call("PUT", `/api/schedules/${first.id}`, { body })).body.status, "inactive");
    assert.equal((await put({ deduplication_key, active: true }, 200)).status, "active");
    assert.equal((await put({ deduplication_key }, 200)).status, "active");
  });

  test("of one key at the same time makes one schedule", async () => {
    const deduplication_key = newKey();
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        scene.call("POST", "/api/schedules", {
          body: { deduplication_key, task: "report", cron: `${index} * * * *` },
        }),
      ),
    );
    assert.equal(answers.filter(({ status }) => status === 201).length, 1);
    assert.equal(new Set(answers.map(({ body }) => body.id)).size, 1);
  });

  for (const field of ["payload", "secrets", "idempotency_key", "idempotency_key_ttl", "metadata", "delay"]) {
    test(`takes no ${field}`, async () => {
      const body = { deduplication_key: "strict", task: "report", cron: "* * * * *", [field]: "x" };
      assert.match((await refusal("POST", "/api/schedules", body))[2], new RegExp(field));
      const [status, code] = await refusal("POST", "/api/schedules", {
        ...{ deduplication_key: "strict", task: "report", cron: "* * * * *" },
        options: { [field]: "x" },
      });
      assert.deepEqual([status, code], [400, "invalid_request"]);
    });
  }

  test("does not take another key on PUT", async () => {
    const { id } = await put({});
    const body = { deduplication_key: "x", task: "report", cron: "* * * * *" };
    const [status, code, message] = await refusal("PUT", `/api/schedules/${id}`, body);
    assert.deepEqual([status, code], [400, "invalid_request"]);
    assert.match(message, /deduplication_key/);
  });

  for (const [cron, timezone, says] of [
    ["61 * * * *", "UTC", /minute "61": 61 is not in 0 to 59/],
    ["* * *", "UTC", /3 fields; write five/],
    ["@daily", "UTC", /nickname.*0 0 \* \* \*/],
    ["0 0 31 2 *", "UTC", /never comes due/],
    ["0 5-2 * * *", "UTC", /goes backwards/],
    ["*/0 * * * *", "UTC", /step is a whole number from 1/],
    ["0 0 * * FUNDAY", "UTC", /day of week "FUNDAY"/],
    ["0 0 * * *", "Mars/Olympus", /timezone: "Mars\/Olympus" is not a time zone; write an IANA name/],
    ["0 0 * * *", "+02:00", /offset, which knows no daylight saving/],
  ] as const) {
    test(`refuses ${cron} in ${timezone} and says what is wrong`, async () => {
      const body = { deduplication_key: "bad", task: "report", cron, timezone };
      const [status, code, message] = await refusal("POST", "/api/schedules", body);
      assert.deepEqual([status, code], [400, "invalid_cron"]);
      assert.match(message, says);
    });
  }

  test("refuses durations that no start could take", async () => {
    const body = { deduplication_key: "bad", task: "report", cron: "* * * * *", options: { ttl: "0s" } };
    assert.deepEqual((await refusal("POST", "/api/schedules", body)).slice(0, 2), [400, "invalid_request"]);
  });

  test("lets users act where they say", async () => {
    const as = await addUser(scene.server, "developer");
    const body = { deduplication_key: newKey(), task: "report", cron: "0 0 1 1 *", ...place(scene.server) };
    const answer = await scene.call("POST", "/api/schedules", { as, body });
    assert.equal(answer.status, 201, answer.text);
    const where = new URLSearchParams(place(scene.server)).toString();
    const gone = await scene.call("DELETE", `/api/schedules/${answer.body.id}?${where}`, { as });
    assert.deepEqual([gone.status, gone.text], [204, ""]);
    assert.equal((await scene.call("GET", `/v1/schedules/${answer.body.id}`)).status, 404);
  });

  test("lists by task, type and external id, page by page", async () => {
    const external_id = "listed";
    const ids = [];
    for (let n = 0; n < 5; n += 1)
      ids.unshift((await put({ external_id, task: n < 3 ? "report" : "other" })).id);
    const first = (await scene.call("GET", `/v1/schedules?external_id=${external_id}&limit=3`)).body;
    const cursor = encodeURIComponent(first.next_cursor);
    const second = (
      await scene.call("GET", `/v1/schedules?external_id=${external_id}&limit=3&cursor=${cursor}`)
    ).body;
    assert.deepEqual(
      [...first.schedules, ...second.schedules].map(({ id }: Json) => id),
      ids,
    );
    const others = await scene.call(
      "GET",
      `/v1/schedules?external_id=${external_id}&task=other&type=imperative`,
    );
    assert.equal(others.body.schedules.length, 2);
    assert.equal((await scene.call("GET", "/v1/schedules?type=declarative")).body.schedules.length, 0);
  });

  test("is seen by its environment alone, where a key may be used again", async () => {
    const production = await productionOf(scene);
    const { id, deduplication_key } = await put({});
    assert.equal((await production.call("GET", `/v1/schedules/${id}`)).status, 404);
    assert.equal((await production.call("DELETE", `/api/schedules/${id}`)).status, 404);
    const body = { deduplication_key, task: "report", cron: "* * * * *" };
    assert.equal((await production.call("POST", "/api/schedules", { body })).status, 201);
  });
});

describe("a due schedule", () => {
  test("starts one run with the service's payload and its options, and records it", async () => {
    const options = {
      queue: "q",
      priority: 7,
      ttl: "1h",
      max_duration: "10m",
      retry: { max_attempts: 2 },
      tags: ["t"],
    };
    const schedule = await put({ timezone: "Europe/Berlin", options });
    advanceTo(schedule.next_run_at);
    const [first] = await settled(schedule.id, 1);
    assert.deepEqual([first.status, first.reason, first.scheduled_at], ["fired", null, schedule.next_run_at]);
    const run = await scene.get(first.run_id);
    assert.deepEqual(run.payload, {
      schedule_id: schedule.id,
      deduplication_key: schedule.deduplication_key,
      scheduled_at: schedule.next_run_at,
      last_scheduled_at: null,
      timezone: "Europe/Berlin",
    });
    assert.deepEqual(
      [run.task, run.schedule_id, run.queue, run.priority, run.max_duration, run.max_attempts, run.tags],
      ["report", schedule.id, "q", 7, "10m", 2, ["t"]],
    );
    assert.ok(Date.parse(run.expires_at) > Date.parse(run.created_at));
    const now = await get(schedule.id);
    assert.deepEqual([now.last_run_id, now.last_run_at], [run.id, run.created_at]);
    assert.equal(Date.parse(now.next_run_at), Date.parse(schedule.next_run_at) + MINUTE_MS);

    advanceTo(now.next_run_at);
    const [second] = await settled(schedule.id, 2);
    assert.equal((await scene.get(second.run_id)).payload.last_scheduled_at, first.scheduled_at);
    const runs = await scene.call("GET", `/v1/runs?schedule_id=${schedule.id}`);
    assert.deepEqual(
      runs.body.runs.map(({ id }: Json) => id),
      [second.run_id, first.run_id],
    );
    await scene.cancelAll();
  });

  test("gives the worker the schedule's id with the lease", async () => {
    const schedule = await put({ options: { priority: 100 } });
    advanceTo(schedule.next_run_at);
    await settled(schedule.id, 1);
    const [lease] = await scene.worker.take();
    assert.equal(lease?.execution.run.schedule_id, schedule.id);
    await scene.cancelAll();
  });

  test("after a time without a server starts the newest slot and records the others as missed", async () => {
    const schedule = await put({ cron: "*/10 * * * * *", active: false });
    const active = (await scene.call("POST", `/api/schedules/${schedule.id}/activate`)).body;
    // Between the eighth due time and the ninth, however long it took to get here.
    advanceTo(active.next_run_at, 72_000);
    const rows = await settled(schedule.id, 8);
    assert.deepEqual(
      rows.map(({ status, reason }) => [status, reason?.kind ?? null]),
      [["fired", null], ...Array.from({ length: 7 }, () => ["skipped", "missed"])],
    );
    assert.match(rows[1].reason.message, /No server/);
    const times = rows.map(({ scheduled_at }) => Date.parse(scheduled_at)).reverse();
    assert.deepEqual(
      times,
      Array.from({ length: 8 }, (_, n) => Date.parse(active.next_run_at) + n * 10_000),
    );
    const page = await scene.call("GET", `/api/schedules/${schedule.id}/occurrences?limit=5`);
    const cursor = encodeURIComponent(page.body.next_cursor);
    const rest = await scene.call(
      "GET",
      `/api/schedules/${schedule.id}/occurrences?limit=5&cursor=${cursor}`,
    );
    assert.deepEqual([...page.body.occurrences, ...rest.body.occurrences], rows);
    assert.equal(rest.body.next_cursor, null);
    await scene.cancelAll();
  });

  test("is on time to a fraction of a second, and runs every second", async () => {
    scene.clock.run();
    const schedule = await put({ cron: "* * * * * *" });
    const rows = await settled(schedule.id, 3);
    scene.clock.stand();
    await scene.call("DELETE", `/api/schedules/${schedule.id}`);
    const late = rows.map(
      ({ scheduled_at, created_at }) => Date.parse(created_at) - Date.parse(scheduled_at),
    );
    assert.ok(Math.min(...late) >= 0 && Math.min(...late) < 500, late.join(" "));
    await scene.cancelAll();
  });

  test("waits for a slot of a limited queue like any start", async () => {
    const held = await scene.start("narrow");
    const schedule = await put({ task: "narrow" });
    advanceTo(schedule.next_run_at);
    const [fired] = await settled(schedule.id, 1);
    assert.equal((await scene.get(fired.run_id)).status_reason.kind, "queue_limit");
    await scene.cancel(held.id);
    assert.notEqual((await scene.get(fired.run_id)).status_reason?.kind, "queue_limit");
    await scene.cancelAll();
  });

  test("whose payload its task refuses is errored with the reason", async () => {
    const schedule = await put({ task: "picky" });
    advanceTo(schedule.next_run_at);
    const [row] = await settled(schedule.id, 1);
    assert.deepEqual([row.status, row.run_id, row.reason.kind], ["skipped", null, "payload_invalid"]);
    assert.match(row.reason.message, /week/);
    const errored = await get(schedule.id);
    assert.deepEqual([errored.status, errored.last_error.kind], ["errored", "payload_invalid"]);
  });
});

describe("changing a schedule", () => {
  test("keeps the next time while cron and time zone stay, and takes the next of new ones", async () => {
    const schedule = await put({ cron: "0 0 1 1 *" });
    const put2 = (body: object) => scene.call("PUT", `/api/schedules/${schedule.id}`, { body });
    const same = await put2({ task: "other", cron: "0 0 1 1 *" });
    assert.equal(same.body.next_run_at, schedule.next_run_at);
    const other = await put2({ task: "other", cron: "0 0 1 1 *", timezone: "Asia/Tokyo" });
    assert.notEqual(other.body.next_run_at, schedule.next_run_at);
  });

  test("activates and deactivates, repeatedly without effect", async () => {
    const { id, next_run_at } = await put({});
    for (const _ of [1, 2]) {
      const { body } = await scene.call("POST", `/api/schedules/${id}/deactivate`);
      assert.deepEqual([body.active, body.status, body.next_run_at], [false, "inactive", null]);
    }
    advanceTo(next_run_at, 2.5 * MINUTE_MS);
    const first = await scene.call("POST", `/api/schedules/${id}/activate`);
    const second = await scene.call("POST", `/api/schedules/${id}/activate`);
    assert.deepEqual(second.body, first.body);
    assert.equal(Date.parse(first.body.next_run_at), Date.parse(next_run_at) + 3 * MINUTE_MS);
    assert.deepEqual(await occurrences(id), []);
  });

  test("a key is free again after the deletion, for a schedule of its own", async () => {
    const { id, deduplication_key } = await put({});
    assert.equal((await scene.call("DELETE", `/api/schedules/${id}`)).status, 204);
    assert.equal((await scene.call("DELETE", `/api/schedules/${id}`)).status, 404);
    assert.notEqual((await put({ deduplication_key })).id, id);
  });
});

describe("a schedule whose task is gone", () => {
  test("is errored with the reason, skips its slots and recovers by itself", async () => {
    const schedule = await put({ task: "later" });
    assert.deepEqual([schedule.status, schedule.last_error.kind], ["errored", "task_not_found"]);
    assert.match(schedule.status_reason.message, /no task "later" in deployment \d+\.\d+/);
    advanceTo(schedule.next_run_at);
    const [row] = await settled(schedule.id, 1);
    assert.deepEqual([row.status, row.reason.kind], ["skipped", "task_not_found"]);
    await scene.deploy({ tasks: [...MANIFEST.tasks, { id: "later" }], queues: MANIFEST.queues });
    const healthy = await get(schedule.id);
    assert.deepEqual([healthy.status, healthy.last_error, healthy.status_reason], ["active", null, null]);
    advanceTo(healthy.next_run_at);
    assert.equal((await settled(schedule.id, 2))[0].status, "fired");
    await scene.deploy(MANIFEST);
    assert.equal((await get(schedule.id)).status_reason.kind, "task_not_found");
    await scene.cancelAll();
  });
});
