// What the fuzzed requests can name: objects that are there, their like in another organization, and who may call.

import assert from "node:assert/strict";
import { encodeId, PERMISSIONS } from "@keelson/contract";
import { digestOf, type ApiServer } from "../../support/api-server.ts";
import { BUNDLE, createReadyDeployment, promote, startWorker } from "../../support/deploy.ts";
import { enrollWorker } from "../../support/raw-worker.ts";
import { addApiKey, addForeignPlace, addUser, newCredential, place } from "../../support/tenancy.ts";
import type { Callers } from "./fuzzed-requests.ts";
import type { Scene } from "./schema-values.ts";

// The document is looked into freely.
// oxlint-disable-next-line typescript/no-explicit-any
type Any = any;

const TASK = "report";
const MISSING = "00000000-0000-7000-8000-000000000000";

export type FuzzScene = {
  readonly document: Any;
  /** Runs about which workers were made to say odd things. */
  readonly leasedRuns: readonly string[];
  /** What one operation's requests are made of: workers and leases of its own, so that it spoils no other's. */
  prepare(operation: Any, path: string): Promise<{ scene: Scene; callers: Callers }>;
};

async function startRuns(server: ApiServer, count: number): Promise<string[]> {
  const starts = Array.from({ length: count }, () => ({ task: TASK }));
  const { status, body, text } = await server.call("POST", "/v1/tasks/start-batch", { body: { starts } });
  assert.equal(status, 200, text);
  return body.results.map((result: Any) => result.run.id as string);
}

async function cursorsOf(server: ApiServer): Promise<string[]> {
  const answers = await Promise.all(
    ["/v1/runs?limit=1", "/v1/tasks?limit=1", "/v1/deployments?limit=1"].map((path) =>
      server.call("GET", path),
    ),
  );
  return answers.flatMap(({ body }) =>
    typeof body.next_cursor === "string" ? [body.next_cursor as string] : [],
  );
}

/** Leases a run to a worker and gives the fields that its operations carry; the run's id is added to `leasedRuns`. */
async function leaseRun(
  server: ApiServer,
  token: string,
  leasedRuns: string[],
): Promise<Record<string, unknown[]>> {
  await startRuns(server, 2);
  const body = { lease_request_id: "scene", limit: 1, wait: "5s" };
  const { body: answer, text } = await server.call("POST", "/worker/v1/executions/lease", {
    as: token,
    body,
  });
  const [execution] = answer.executions;
  assert.ok(execution, text);
  leasedRuns.push(execution.run.id);
  return {
    run_id: [execution.run.id],
    environment_id: [execution.run.environment_id],
    lease_id: [execution.lease_id],
    epoch: [execution.epoch],
    sequence: Array.from({ length: 12 }, (_, index) => index + 1),
  };
}

export async function makeFuzzScene(server: ApiServer): Promise<FuzzScene> {
  const worker = await startWorker(server);
  const deployment = await createReadyDeployment(server, worker, { tasks: [{ id: TASK }, { id: "other" }] });
  await promote(server, deployment.id);
  const there = await addForeignPlace(server);
  const foreignKey = await addApiKey(server, PERMISSIONS, { environmentId: there.environmentId });
  const readKey = await addApiKey(server, ["runs.read"]);
  const member = await addUser(server, "developer");
  const runs = await startRuns(server, 3);
  const tasks = await server.call("GET", "/v1/tasks");
  const { body: document } = await server.call("GET", "/openapi.json", { as: null });
  const { api_key, user_token, admin_key, capacity_key, enrollment_token } = server.credentials;
  const cursors = await cursorsOf(server);

  const known: Record<string, unknown[]> = {
    declaredID: [TASK, "other"],
    task: [TASK],
    digest: [digestOf(BUNDLE), digestOf(Buffer.alloc(0))],
    bytes: [BUNDLE, Buffer.alloc(0)],
    cursor: [...cursors, "0", "1"],
    deployment_id: [deployment.id, encodeId("dep", MISSING)],
    bundle_digest: [digestOf(BUNDLE)],
    bundle_format_version: [1],
    worker_protocol_version: [1],
    enrollment_token: [enrollment_token, newCredential("enr").text],
    idempotency_key: ["one", "two"],
  };
  const idsIn = (path: string): string[] =>
    path.includes("/runs/")
      ? [...runs, encodeId("run", MISSING)]
      : path.includes("/deployments/")
        ? [deployment.id, encodeId("dep", MISSING)]
        : [tasks.body.tasks[0].id, TASK, encodeId("task", MISSING)];

  const leasedRuns: string[] = [];

  return {
    document,
    leasedRuns,
    prepare: async (operation, path) => {
      const schemes = (operation.security ?? []).flatMap((one: object) => Object.keys(one)) as string[];
      const isWorkers = schemes.includes("workerToken");
      const fresh = isWorkers ? await enrollWorker(server) : null;
      const leased =
        fresh !== null && path.includes("/executions/")
          ? await leaseRun(server, fresh.token, leasedRuns)
          : {};
      const isUsers = schemes.includes("userSession");
      const here = place(server);
      const selection = isUsers
        ? {
            project_id: [here.project_id, here.project_id, there.project_id],
            environment_id: [here.environment_id],
          }
        : {};
      return {
        scene: { document, known: { ...known, id: idsIn(path), ...selection, ...leased } },
        callers: {
          fitting: fresh !== null ? [fresh.token] : isUsers ? [api_key, user_token, member] : [api_key],
          others: [foreignKey, readKey, worker, admin_key, capacity_key, enrollment_token, user_token],
        },
      };
    },
  };
}
