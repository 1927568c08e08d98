import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { dropGoneWorkers } from "../../../src/core/workers/tidy-workers.ts";
import { WORKER_KEPT_MS } from "../../../src/core/workers/worker.ts";
import { sql } from "../../../src/db/sql.ts";
import { startApiServer, type ApiServer } from "../../support/api-server.ts";
import { asAdmin, newestEvent } from "../../support/audit.ts";
import { enrollWorker } from "../../support/raw-worker.ts";

let server: ApiServer;
let admin: ReturnType<typeof asAdmin>;
let now = Date.now();

before(async () => {
  // It is moved by hand, so that no worker looks lost before it should.
  server = await startApiServer({ clock: () => now });
  admin = asAdmin(server);
});
after(() => server.stop());

const done = async (...call: Parameters<ReturnType<typeof asAdmin>>) => {
  const answer = await admin(...call);
  assert.ok(answer.status < 300, answer.text);
  return answer.body;
};

describe("workers", () => {
  test("are listed by group and status, and drained one by one", async () => {
    const worker = await enrollWorker(server);
    const item = await done("GET", `workers/${worker.id}`);
    assert.equal(item.status, "active");
    const ids = async (query: string): Promise<string[]> =>
      (await done("GET", `workers?${query}`)).workers.map(({ id }: { id: string }) => id);
    assert.ok((await ids(`worker_group_id=${item.worker_group_id}&status=active`)).includes(worker.id));
    assert.ok(!(await ids("status=drained")).includes(worker.id));
    // It holds nothing, so it is drained at once, whether or not it has heard of it.
    assert.equal((await done("POST", `workers/${worker.id}/drain`)).status, "drained");
    const event = await newestEvent(server, null);
    assert.deepEqual(
      [event.action, event.resource, event.details],
      ["workers.drain", { kind: "worker", id: worker.id }, { worker_group_id: item.worker_group_id }],
    );
    assert.equal((await done("POST", `workers/${worker.id}/drain`)).status, "drained");
    assert.equal((await newestEvent(server, null)).id, event.id);
    assert.ok((await ids("status=drained")).includes(worker.id));
  });

  test("one that is silent looks lost until it is heard again", async () => {
    const worker = await enrollWorker(server);
    now += 15_001;
    assert.equal((await done("GET", `workers/${worker.id}`)).status, "lost");
    const listed = (await done("GET", "workers?status=lost")).workers;
    assert.ok(listed.some(({ id }: { id: string }) => id === worker.id));
    assert.equal((await worker.call("POST", "/heartbeat", {})).body.status, "active");
  });

  test("an open lease call is answered when its worker is drained", async () => {
    const worker = await enrollWorker(server);
    const asked = worker.lease({ wait: "60s", requestId: "open" });
    await worker.seesRequest("open");
    await done("POST", `workers/${worker.id}/drain`);
    const answer = await asked;
    assert.deepEqual([answer.draining, answer.executions], [true, []]);
    // Told once: a poll after that waits as ever.
    assert.equal((await worker.lease()).draining, true);
  });

  test("those that were not heard for a month are dropped, with their tokens", async () => {
    const [gone, heard] = [await enrollWorker(server), await enrollWorker(server)];
    await done("POST", `workers/${gone.id}/drain`);
    const tokens = async (): Promise<number> => {
      const [row] = await server.db.query<{ count: number }>(sql`
        SELECT count(*) FROM worker_tokens WHERE worker_id = ${decodeId("wkr", gone.id)}`);
      return row?.count ?? 0;
    };
    assert.equal(await tokens(), 1);
    now += WORKER_KEPT_MS + 60_000;
    await server.db.query(sql`
      UPDATE workers SET last_seen_at = to_timestamp(${now}::float8 / 1000) WHERE id = ${decodeId("wkr", heard.id)}`);
    await dropGoneWorkers(server.db, now);
    assert.equal((await admin("GET", `workers/${gone.id}`)).status, 404);
    assert.equal(await tokens(), 0);
    assert.equal((await done("GET", `workers/${heard.id}`)).status, "active");
  });
});
