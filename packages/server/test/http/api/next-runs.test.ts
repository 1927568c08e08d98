import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startApiServer, type ApiServer } from "../../support/api-server.ts";

let server: ApiServer;
before(async () => {
  server = await startApiServer();
});
after(() => server.stop());

const get = (query: Record<string, string>) =>
  server.call("GET", `/api/schedules/next-runs?${new URLSearchParams(query).toString()}`);

describe("the next due times of an expression", () => {
  test("come in order, by its time zone, five unless asked otherwise", async () => {
    const berlin = { cron: "0 7 1 1 *", timezone: "Europe/Berlin" };
    for (const [query, count] of [
      [berlin, 5],
      [{ ...berlin, limit: "2" }, 2],
    ] as const) {
      const { status, body } = await get(query);
      assert.equal(status, 200);
      const year = Number(body.next_runs[0].slice(0, 4));
      assert.deepEqual(
        body.next_runs,
        Array.from({ length: count }, (_, index) => `${year + index}-01-01T06:00:00.000Z`),
      );
      assert.ok(Date.parse(body.next_runs[0]) > Date.now());
    }
  });

  test("are in UTC without a zone", async () => {
    const [first] = (await get({ cron: "0 7 1 1 *" })).body.next_runs;
    assert.match(first, /-01-01T07:00:00\.000Z$/);
  });

  test("are refused as a schedule of it would be", async () => {
    const queries: Record<string, string>[] = [{ cron: "often" }, { cron: "0 7 * * *", timezone: "Berlin" }];
    for (const query of queries) {
      const { status, body } = await get(query);
      assert.deepEqual([status, body.error.code], [400, "invalid_cron"]);
    }
    assert.equal((await get({})).body.error.code, "invalid_request");
    assert.equal((await get({ cron: "0 7 * * *", limit: "11" })).status, 400);
  });
});
