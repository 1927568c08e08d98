import assert from "node:assert/strict";
import { test } from "node:test";
import {
  Client,
  NotFoundError,
  queue,
  schedules,
  task,
  type ScheduleDefinition,
  type ScheduleQuery,
  UsageError,
} from "@keelson/sdk";
import { keelson } from "@keelson/sdk/runtime";
import { startRunScene } from "../../server/test/support/run-scene.ts";

const report = task({ id: "scheduled-report", run: () => 1 });
const definition: ScheduleDefinition = {
  task: report,
  cron: "30 7 * * MON-FRI",
  timezone: "Europe/Berlin",
  externalId: "e",
  options: {
    ...{ queue: queue({ name: "scheduled" }), concurrencyKey: "c", priority: 3, ttl: 60_000 },
    ...{ maxDuration: "10m", retry: { maxAttempts: 2 }, tags: ["a"] },
  },
};
const wire = {
  ...{ task: "scheduled-report", cron: "30 7 * * MON-FRI", timezone: "Europe/Berlin", external_id: "e" },
  options: {
    ...{ queue: "scheduled", concurrency_key: "c", priority: 3, ttl: "1m" },
    ...{ max_duration: "10m", retry: { max_attempts: 2 }, tags: ["a"] },
  },
};

test("declared schedules are in the manifest, sorted by id", () => {
  schedules.task({ id: "weekdays", ...definition });
  schedules.task({ id: "paused", task: "scheduled-report", cron: "0 * * * *", active: false });
  assert.deepEqual(keelson.manifest().schedules, [
    { id: "paused", task: "scheduled-report", cron: "0 * * * *", active: false },
    { id: "weekdays", ...wire },
  ]);
});

test("a schedule that cannot be used is refused where it stands", () => {
  schedules.task({ id: "once", task: report, cron: "* * * * *" });
  assert.throws(() => schedules.task({ id: "once", task: report, cron: "* * * * *" }), /declared twice/);
  assert.throws(() => schedules.task({ id: "has space", task: report, cron: "* * * * *" }), UsageError);
});

test("the client makes, finds, changes and deletes schedules", async () => {
  const deployed = { tasks: [{ id: "scheduled-report" }, { id: "other" }], queues: [{ name: "scheduled" }] };
  const scene = await startRunScene({
    ...deployed,
    schedules: [{ id: "declared", task: "other", cron: "0 0 1 1 *" }],
  });
  try {
    const { url, credentials } = scene.server;
    const { schedules: api } = new Client({ url, apiKey: credentials.api_key });
    const made = await api.put({ deduplicationKey: "k", ...definition });
    assert.partialDeepStrictEqual(made, {
      ...definition,
      task: "scheduled-report",
      options: { ...definition.options, queue: "scheduled", ttl: "1m" },
      deduplicationKey: "k",
      type: "imperative",
      active: true,
    });
    const idsOf = async (query: ScheduleQuery): Promise<string[]> => {
      const ids: string[] = [];
      for await (const { id } of api.list({ ...query, limit: 1 })) ids.push(id);
      return ids;
    };
    const [declared = ""] = await idsOf({ type: "declarative" });
    assert.deepEqual((await idsOf({})).sort(), [made.id, declared].sort());
    for (const query of [{ task: "scheduled-report" }, { deduplicationKey: "k" }, { externalId: "e" }])
      assert.deepEqual(await idsOf(query), [made.id]);
    assert.equal((await api.deactivate(made.id)).status, "inactive");
    assert.equal((await api.activate(made.id)).status, "active");
    const replaced = await api.replace(made.id, { task: "other", cron: "* * * * *" });
    assert.partialDeepStrictEqual(replaced, { id: made.id, task: "other", timezone: "UTC", options: {} });
    assert.deepEqual(await api.get(made.id), replaced);
    assert.deepEqual((await api.occurrences(made.id, { limit: 5 }).page()).items, []);
    await assert.rejects(api.deactivate(declared), { code: "schedule_is_declarative" });
    assert.equal(await api.delete(made.id), undefined);
    await assert.rejects(api.get(made.id), NotFoundError);
  } finally {
    await scene.stop();
  }
});
