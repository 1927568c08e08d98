import assert from "node:assert/strict";
import { test } from "node:test";
import { sql } from "../../server/src/db/sql.ts";
import { until } from "../../server/test/support/until.ts";
import { bundleOf } from "./support/bundles.ts";
import type { AgentServer } from "./support/start-agent-server.ts";
import { startTestAgent } from "./support/start-test-agent.ts";

const WAITING = bundleOf({ main: `console.log("up"); await new Promise(() => {});` });

/** Answers of the server that have a check lose it on their way, so many times; gives the ids of the lost checks. */
function loseChecks(server: AgentServer, times: number): string[] {
  const lost: string[] = [];
  server.changeLeases((answer) => {
    if (answer.deployment_checks.length === 0 || lost.length === times) return;
    lost.push(...answer.deployment_checks.splice(0).map(({ check_id }) => check_id));
  });
  return lost;
}

async function interruptionsOf(server: AgentServer): Promise<number> {
  const [row] = await server.group.server.db.query<{ count: number }>(sql`
    SELECT sum(d.check_interruptions)::int4 AS count FROM deployments d JOIN environments v ON v.id = d.environment_id
    WHERE v.worker_group_id = ${server.group.id}`);
  return row?.count ?? 0;
}

for (const isFull of [false, true])
  test(`a ${isFull ? "full" : "free"} worker makes a check although its polls were lost with it`, async (t) => {
    const { server } = await startTestAgent(t, { capacity: 1 });
    if (isFull) await server.enqueue({ digest: server.putBundle(WAITING) }).outputHas("stdout", "up");
    // More often than a deployment was ever offered again.
    const lost = loseChecks(server, 4);
    const { status, check_id } = await server.check(server.putBundle(bundleOf({ main: "" })));
    assert.equal(status, "ready");
    assert.deepEqual(
      lost,
      Array.from({ length: 4 }, () => check_id),
    );
    assert.equal(await interruptionsOf(server), 0);
  });

test("a check stays with a worker that fetches the bundle for longer than a silent one has", async (t) => {
  const { server } = await startTestAgent(t, { capacity: 1 });
  await server.enqueue({ digest: server.putBundle(WAITING) }).outputHas("stdout", "up");
  const { promise: fetching, resolve: letFetch } = Promise.withResolvers<void>();
  const digest = server.putBundle(bundleOf({ main: "return 1;" }));
  server.failAlways(`bundles/${digest}`, { hold: fetching });
  const checking = server.check(digest);
  await server.called(`bundles/${digest}`);
  const { db } = server.group.server;
  const readExpiry = async (): Promise<number> => {
    const [row] = await db.query<{ checkExpiresAt: number }>(sql`
      SELECT d.check_expires_at FROM deployments d JOIN environments v ON v.id = d.environment_id
      WHERE v.worker_group_id = ${server.group.id} AND d.status = 'pending'`);
    return row?.checkExpiresAt ?? assert.fail("no check is under way");
  };
  // Again and again it is nearly over when the worker polls.
  for (let times = 0; times < 3; times += 1) {
    await db.query(sql`
      UPDATE deployments d SET check_expires_at = check_expires_at - interval '30 s' FROM environments v
      WHERE v.id = d.environment_id AND v.worker_group_id = ${server.group.id} AND d.status = 'pending'`);
    const before = await readExpiry();
    await until("a poll keeps the check", 5_000, async () => (await readExpiry()) > before + 10_000);
  }
  letFetch();
  assert.equal((await checking).status, "ready");
  assert.equal(await interruptionsOf(server), 0);
});
