import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { DeploymentCheck } from "@keelson/contract";
import { sql } from "../../../src/db/sql.ts";
import { startApiServer, type Answer, type ApiServer } from "../../support/api-server.ts";
import { createDeployment, startWorker } from "../../support/deploy.ts";
import { until } from "../../support/until.ts";

describe("checks of deployments", () => {
  let server: ApiServer;
  let worker: string;
  let other: string;
  before(async () => {
    server = await startApiServer({ config: { leaseDurationMs: 15_000 } });
    worker = await startWorker(server);
    other = await startWorker(server, "other");
  });
  after(() => server.stop());

  let polls = 0;
  /** One look, of a worker that says which checks it is at, or does not say. */
  async function poll(as: string, held?: string[]): Promise<DeploymentCheck | null> {
    polls += 1;
    const body = { lease_request_id: `poll-${polls}`, limit: 0, wait: "0s", deployment_checks: held };
    const answer = await server.call("POST", "/worker/v1/executions/lease", { as, body });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body.deployment_checks[0] ?? null;
  }

  /** A new deployment, and what the worker's poll has of it. */
  async function give(as = worker): Promise<DeploymentCheck> {
    const { id } = await createDeployment(server, { tasks: [] });
    const check = await poll(as, []);
    assert.equal(check?.deployment_id, id);
    return check as DeploymentCheck;
  }

  const tell = (
    as: string,
    { deployment_id, check_id }: DeploymentCheck,
    status = "ready",
  ): Promise<Answer> =>
    server.call("POST", "/worker/v1/deployments/checked", {
      as,
      body: { deployment_id, check_id, status, ...(status === "ready" && { entrypoints: [] }) },
    });

  /** What is pending was last heard of when its time was just over. */
  const expire = (): Promise<unknown> =>
    server.db.query(
      sql`UPDATE deployments SET check_expires_at = now() - interval '1 second' WHERE status = 'pending'`,
    );

  const read = async ({ deployment_id: id }: DeploymentCheck): Promise<Answer["body"]> =>
    (await server.call("GET", `/v1/deployments/${id}`)).body;

  /** Its worker falls silent, and that was noticed. */
  async function fallSilent(check: DeploymentCheck): Promise<void> {
    await expire();
    await until("the silence is noticed", 10_000, async () => (await read(check)).error !== null);
  }

  test("a check whose response was lost is given again to its worker, under its id, and to no other", async () => {
    const check = await give();
    assert.deepEqual(await poll(worker, []), check);
    assert.deepEqual(await poll(worker, ["of-another-deployment"]), check);
    assert.equal(await poll(other, []), null);
    assert.equal(await poll(worker, [check.check_id]), null, "it is known to be there");
    assert.equal(await poll(worker), null, "a worker that says nothing of its checks is not told twice");
    assert.equal((await tell(worker, check)).body.status, "ready");
  });

  test("a worker keeps the checks that it lists, however long they take", async () => {
    const check = await give();
    for (let times = 0; times < 10; times += 1) {
      await expire();
      assert.equal(await poll(worker, [check.check_id]), null);
    }
    assert.equal((await read(check)).error, null);
    assert.equal((await tell(worker, check)).body.status, "ready");
  });

  test("a check whose worker falls silent is counted as interrupted and goes to another; then the first answer is void", async () => {
    const check = await give();
    await fallSilent(check);
    const { status, error } = await read(check);
    assert.equal(status, "pending");
    assert.match(
      error.message,
      /was interrupted \(1 of 8\).*The worker that had the check was not heard of for 60 s/,
    );
    await expire();
    const second = await poll(other, []);
    assert.equal(second?.deployment_id, check.deployment_id);
    const late = await tell(worker, check);
    assert.deepEqual([late.status, late.body.error.code], [409, "invalid_state"]);
    const stolen = await tell(worker, second);
    assert.deepEqual([stolen.status, stolen.body.error.code], [409, "invalid_state"]);
    assert.equal((await tell(other, second)).body.status, "ready");
  });

  for (const status of ["ready", "failed"])
    test(`a late answer of ${status} counts while no other worker was given the check`, async () => {
      const check = await give();
      await fallSilent(check);
      const told = await tell(worker, check, status);
      assert.deepEqual([told.status, told.body.status], [200, status]);
    });

  test("an interruption that was counted as silence is not counted again", async () => {
    const check = await give();
    await fallSilent(check);
    const before = await read(check);
    for (let times = 0; times < 2; times += 1)
      assert.equal((await tell(worker, check, "interrupted")).body.status, "pending");
    assert.deepEqual(await read(check), before);
    assert.equal((await tell(worker, check)).body.status, "ready");
  });

  test("workers that fall silent eight times fail a deployment as infrastructure, and deploying again checks it again", async () => {
    const check = await give();
    await server.db.query(sql`UPDATE deployments SET check_interruptions = 7 WHERE status = 'pending'`);
    await fallSilent(check);
    const { status, error } = await read(check);
    assert.equal(status, "failed");
    assert.match(
      error.message,
      /^8 checks .* interrupted by infrastructure, so nothing is known of the bundle/,
    );
    assert.match(error.message, /deploy again/);
    const again = await give();
    assert.equal(again.bundle_digest, check.bundle_digest);
    assert.equal((await tell(worker, again)).body.status, "ready");
  });
});
