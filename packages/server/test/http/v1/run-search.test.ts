// Searches over runs by HTTP: what they find, how they refuse, and bulk actions that use them.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "../../../src/db/sql.ts";
import { failRun } from "../../support/failed-run.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import { until } from "../../support/until.ts";

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "daily-report" }, { id: "mail" }] });
  // The index settles with the time.
  scene.clock.run();
});
after(() => scene.stop());

async function search(text: string, more = ""): Promise<string[]> {
  const answer = await scene.call("GET", `/v1/runs?search=${encodeURIComponent(text)}${more}`);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.equal(answer.body.next_cursor, null);
  return answer.body.runs.map(({ id }: { id: string }) => id);
}

async function refused(text: string): Promise<string> {
  const { status, body } = await scene.call("GET", `/v1/runs?search=${encodeURIComponent(text)}`);
  assert.equal(status, 400);
  assert.equal(body.error.code, "invalid_request");
  return body.error.message;
}

/** All runs have their words in the index. */
const indexed = (): Promise<void> =>
  until("the index has all runs", 60_000, async () => {
    const [row] = await scene.server.db.query<{ missing: number }>(sql`
      SELECT count(*) AS missing FROM runs r LEFT JOIN run_search w ON w.environment_id = r.environment_id AND w.run_id = r.id
      WHERE w.run_id IS NULL`);
    return row?.missing === 0;
  });

describe("a search over runs", () => {
  let first: { id: string };
  let second: { id: string };
  let failed: string;
  before(async () => {
    first = await scene.start("daily-report", {
      payload: { customer: "Ada Lovelace", order: "order-4711" },
      metadata: { city: "Paris" },
      tags: ["weekly"],
    });
    await scene.worker.finish(await scene.worker.takeOne());
    second = await scene.start("mail", { payload: { to: "ada@example.com", text: "hello\nworld" } });
    await scene.worker.finish(await scene.worker.takeOne());
    failed = await failRun(scene, "mail", { message: "No answer from host", stack: "TypeError: No answer" });
  });

  for (const when of ["before and after it is indexed", "once it is indexed"])
    test(`finds a run by its words ${when}`, async () => {
      if (when === "once it is indexed") await indexed();
      assert.deepEqual(await search("lovelace"), [first.id]);
      assert.deepEqual(await search("ADA"), [second.id, first.id]);
      assert.deepEqual(await search('"customer ada"'), [first.id]);
      assert.deepEqual(await search("order-4711"), [first.id]);
      assert.deepEqual(await search("hello world"), [second.id]);
      assert.deepEqual(await search("ada@example.com"), [second.id]);
      assert.deepEqual(await search("metadata.city:paris"), [first.id]);
      assert.deepEqual(await search("weekly daily"), [first.id]);
      assert.deepEqual(await search("love*"), [first.id]);
      assert.deepEqual(await search("ada task:mail"), [second.id]);
      assert.deepEqual(await search("ada -lovelace"), [second.id]);
      assert.deepEqual(await search("payload:paris"), []);
      assert.deepEqual(await search(first.id), [first.id]);
      assert.deepEqual(await search(`id:${first.id.slice(0, 29)}`), [first.id]);
      assert.deepEqual(await search("tag:weekly created:>2020-01-01"), [first.id]);
      assert.deepEqual(await search("created:<2020-01-01"), []);
      assert.deepEqual(await search("ada", "&task=mail"), [second.id]);
      assert.deepEqual(await search("task:mail", "&task=daily-report"), []);
      assert.deepEqual(await search("status:failed", "&status=succeeded"), []);
    });

  test("finds a run by its error", async () => {
    await until("the error is indexed", 60_000, async () => (await search("error:answer")).length === 1);
    assert.deepEqual(await search("error:host"), [failed]);
    assert.deepEqual(await search("error:typeerror status:failed"), [failed]);
    assert.deepEqual(await search("status:failed"), [failed]);
  });

  test("says until when the index has the runs", async () => {
    const { body } = await scene.call("GET", "/v1/runs?search=ada");
    assert.ok(Date.parse(body.indexed_until) > Date.parse("2020-01-01"));
    assert.equal("indexed_until" in (await scene.call("GET", "/v1/runs")).body, false);
  });

  test("goes by pages, none twice", async () => {
    const seen: string[] = [];
    let cursor = "";
    do {
      const { body } = await scene.call("GET", `/v1/runs?search=ada&limit=1${cursor}`);
      seen.push(...body.runs.map(({ id }: { id: string }) => id));
      cursor = body.next_cursor === null ? "" : `&cursor=${body.next_cursor}`;
    } while (cursor !== "");
    assert.deepEqual(seen, [second.id, first.id]);
  });

  test("says where a mistake is", async () => {
    assert.match(await refused("a customer:ada"), /^search: at character 3: there is no field customer/);
    assert.match(await refused('"ada'), /at character 1: this quotation mark is never closed/);
  });

  test("hides runs that others started", async () => {
    const [row] = await scene.server.db.query<{ count: number }>(sql`
      WITH child AS (
        UPDATE runs SET parent_run_id = gen_random_uuid() WHERE entrypoint = 'daily-report' RETURNING 1
      ) SELECT count(*) AS count FROM child`);
    assert.equal(row?.count, 1);
    const { body } = await scene.call("GET", "/v1/runs?hide=children&hide=scheduled");
    assert.deepEqual(
      body.runs.map(({ id }: { id: string }) => id),
      [failed, second.id],
    );
    assert.deepEqual(await search("ada", "&hide=children"), [second.id]);
  });

  test("names the runs of a bulk action", async () => {
    const filter = { search: "host status:failed" };
    const preview = await scene.call("POST", "/v1/runs/bulk-actions", {
      body: { action: "replay", filter, dry_run: true },
    });
    assert.deepEqual(
      [preview.body.matched, preview.body.sample_run_ids],
      [1, [failed]],
      JSON.stringify(preview.body),
    );
    const created = await scene.call("POST", "/v1/runs/bulk-actions", { body: { action: "replay", filter } });
    assert.equal(created.status, 202, JSON.stringify(created.body));
    await until("the bulk action has ended", 60_000, async () => {
      const { body } = await scene.call("GET", `/v1/runs/bulk-actions/${created.body.id}`);
      return body.status === "completed" && body.done === 1;
    });
  });
});
