import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startApiServer, type ApiServer } from "../../support/api-server.ts";
import { createDeployment, createReadyDeployment, leaseCheck, promote } from "../../support/deploy.ts";
import { enrollWorker, type HeldLease, type RawWorker } from "../../support/raw-worker.ts";

let server: ApiServer;
let worker: RawWorker;
let lease: HeldLease;

describe("odd values from a worker", () => {
  before(async () => {
    server = await startApiServer();
    worker = await enrollWorker(server);
    const deployment = await createReadyDeployment(server, worker.token, { tasks: [{ id: "report" }] });
    await promote(server, deployment.id);
    await server.call("POST", "/v1/tasks/report/start", { body: {} });
    lease = await worker.takeOne();
    assert.deepEqual(await worker.report(lease.operation("start")), [200]);
  });
  after(() => server.stop());

  test("a counter that no column holds is refused", async () => {
    for (const epoch of [2 ** 31, 1e300]) {
      const leases = [{ ...lease.fields, epoch }];
      const renewed = await worker.call("POST", "/executions/renew", { leases });
      assert.deepEqual([renewed.status, renewed.body.error.code], [400, "invalid_request"]);
    }
  });

  test("a time that no column holds is refused, and any other is told by the server's clock", async () => {
    const begun = Date.now();
    const chunk = { stream: "stdout", data: "YQ==" };
    for (const at of ["0000-01-01T00:00:00Z", "0050-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59"]) {
      const operation = { ...lease.operation("logs", { chunks: [{ ...chunk, at }] }), sequence: 2 };
      const answer = await worker.call("POST", "/executions/report", { operations: [operation] });
      assert.deepEqual([answer.status, answer.body.error?.code], [400, "invalid_request"], at);
    }
    const chunks = ["0100-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"].map((at) => ({ ...chunk, at }));
    const operation = { ...lease.operation("logs", { chunks }), sequence: 2 };
    assert.deepEqual(await worker.report(operation), [200]);
    const logs = await server.call("GET", `/v1/runs/${lease.runId}/logs`);
    assert.equal(logs.status, 200, logs.text);
    const times = logs.body.logs.map(({ at }: { at: string }) => Date.parse(at));
    assert.equal(times.length, chunks.length);
    // As long before now as it says, but not before the attempt.
    assert.ok(times[0] <= begun && times[1] >= begun && times[1] <= Date.now(), logs.text);
  });

  test("an increment past the largest number is refused and changes nothing", async () => {
    const increment = { op: "increment", key: "sum", value: 1e308 };
    const metadata = (): unknown => ({
      ...lease.operation("metadata", { changes: [increment] }),
      sequence: 3,
    });
    assert.deepEqual(await worker.report(metadata()), [200]);
    const again = { ...lease.operation("metadata", { changes: [increment] }), sequence: 4 };
    assert.deepEqual(await worker.report(again), ["invalid_request"]);
    const run = await server.call("GET", `/v1/runs/${lease.runId}`);
    assert.deepEqual(run.body.metadata, { sum: 1e308 });
  });

  for (const odd of ["a\0b", "half \ud83d"])
    test(`an operation with the value ${JSON.stringify(odd)} is refused alone, and the run can fail of it`, async () => {
      const started = await Promise.all(
        [1, 2].map(() => server.call("POST", "/v1/tasks/report/start", { body: {} })),
      );
      const [sick, well] = (await worker.take(2)) as [HeldLease, HeldLease];
      assert.deepEqual(await worker.report(sick.operation("start"), well.operation("start")), [200, 200]);
      const step = (value: unknown) => ({ entries: [{ position: 1, kind: "step", name: "s", value }] });
      const operations: [string, object, string][] = [
        ["metadata", { changes: [{ op: "set", key: "k", value: { in: odd } }] }, "changes.0.value.in"],
        ["metadata", { changes: [{ op: "set", key: odd, value: 1 }] }, "changes.0.key"],
        ["steps", step([1, { [odd]: 1 }]), "entries.0.value.1."],
        ["tokens", { position: 1, metadata: { odd } }, "metadata.odd"],
        ["child-runs", { position: 1, task: "report", payload: odd }, "payload"],
        [
          "waits",
          { waits: [{ position: 1, name: odd, kind: "timer", timeout: "1s" }], parked: false },
          "waits.0.name",
        ],
        ["release", { outcome: "succeeded", output: [odd] }, "output.0"],
      ];
      for (const [kind, extra, path] of operations) {
        // The operations of other runs in the report are not held back.
        const [refused, taken] = await worker.results(
          { ...sick.operation(kind, extra), sequence: 2 },
          well.operation("events", {
            events: [{ kind: "step.completed", message: odd, at: "2026-11-20T09:15:00Z" }],
          }),
        );
        assert.deepEqual(
          [refused.status, refused.error.code, taken.status],
          [400, "invalid_request", 200],
          kind,
        );
        assert.ok(refused.error.message.startsWith(path), refused.error.message);
        assert.match(refused.error.message, /holds NUL or half of a surrogate pair/);
      }
      const failure = {
        kind: "application_error",
        message: `refused: ${odd}`,
        stack: null,
        retryable: false,
      };
      const end = { ...sick.operation("release", { outcome: "failed", failure }), sequence: 2 };
      assert.deepEqual(await worker.report(end), [200]);
      // What only looks like an escape is an ordinary text.
      const output = String.raw`\u0000 \ud800 ${"\u{1f600}"}`;
      assert.deepEqual(
        await worker.report(well.operation("release", { outcome: "succeeded", output })),
        [200],
      );
      const runs = await Promise.all(started.map(({ body }) => server.call("GET", `/v1/runs/${body.id}`)));
      const byId = new Map(runs.map(({ body }) => [body.id, body]));
      assert.deepEqual([byId.get(sick.runId).status, byId.get(sick.runId).metadata], ["failed", {}]);
      assert.equal(byId.get(well.runId).output, output);
    });

  test("NUL in the error of a failed check does not keep the deployment pending", async () => {
    const deployment = await createDeployment(server, { tasks: [{ id: "broken" }] });
    const { deployment_id, check_id } = await leaseCheck(server, worker.token);
    assert.equal(deployment_id, deployment.id);
    const error = { message: "a\u0000b", stack: null };
    const body = { deployment_id, check_id, status: "failed", error };
    const settled = await worker.call("POST", "/deployments/checked", body);
    assert.deepEqual([settled.status, settled.body.status], [200, "failed"], settled.text);
    const events = await server.call("GET", `/v1/deployments/${deployment.id}/events`);
    assert.ok(events.text.includes("a\ufffdb"), events.text);
  });
});
