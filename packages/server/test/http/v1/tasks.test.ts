import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startApiServer, type ApiServer } from "../../support/api-server.ts";
import { createReadyDeployment, promote, startWorker } from "../../support/deploy.ts";

describe("tasks", () => {
  let server: ApiServer;
  let worker: string;
  before(async () => {
    server = await startApiServer();
    worker = await startWorker(server);
  });
  after(() => server.stop());

  test("there are none before a promotion", async () => {
    assert.deepEqual((await server.call("GET", "/v1/tasks")).body, { tasks: [], next_cursor: null });
  });

  test("they are the current deployment's and keep their id from deployment to deployment", async () => {
    const first = await createReadyDeployment(server, worker, {
      tasks: [
        {
          id: "a",
          description: "A.",
          queue: "q",
          retry: { max_attempts: 2 },
          payload_schema: { type: "object" },
        },
        { id: "b" },
      ],
    });
    await promote(server, first.id);
    const before = (await server.call("GET", "/v1/tasks")).body.tasks;
    assert.deepEqual(before.map((task: { declared_id: string }) => task.declared_id).sort(), ["a", "b"]);
    const a = before.find((task: { declared_id: string }) => task.declared_id === "a");
    assert.deepEqual(
      [a.deployment_id, a.description, a.queue, a.retry, a.payload_schema, a.ttl, a.execution],
      [first.id, "A.", "q", { max_attempts: 2 }, { type: "object" }, null, "exclusive"],
    );
    const second = await createReadyDeployment(server, worker, {
      tasks: [{ id: "a", description: "Changed." }, { id: "c" }],
    });
    await promote(server, second.id);
    const item = await server.call("GET", `/v1/tasks/${a.id}`);
    assert.deepEqual(
      [item.body.deployment_id, item.body.description, item.body.queue],
      [second.id, "Changed.", null],
    );
    const b = before.find((task: { declared_id: string }) => task.declared_id === "b");
    assert.equal((await server.call("GET", `/v1/tasks/${b.id}`)).status, 404);
  });

  test("pages follow each other without gap or repeat", async () => {
    const tasks = Array.from({ length: 5 }, (_, index) => ({ id: `page-${index}` }));
    await promote(server, (await createReadyDeployment(server, worker, { tasks })).id);
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<ApiServer["call"]>> = await server.call(
        "GET",
        `/v1/tasks?limit=2${cursor === null ? "" : `&cursor=${cursor}`}`,
      );
      seen.push(...page.body.tasks.map((task: { declared_id: string }) => task.declared_id));
      cursor = page.body.next_cursor;
    } while (cursor !== null);
    assert.deepEqual(
      seen.sort(),
      tasks.map((task) => task.id),
    );
  });

  test("a start checks the payload against the declared schema", async () => {
    const payload_schema = {
      type: "object",
      properties: { items: { type: "array", items: { type: "object", required: ["name"] } } },
    };
    await promote(
      server,
      (await createReadyDeployment(server, worker, { tasks: [{ id: "checked", payload_schema }] })).id,
    );
    const refused = await server.call("POST", "/v1/tasks/checked/start", {
      body: { payload: { items: [{}] } },
    });
    assert.deepEqual([refused.status, refused.body.error.code], [400, "invalid_payload"]);
    assert.deepEqual(refused.body.error.details.issues, [
      { path: "payload.items.0.name", message: "is required; add it" },
    ]);
    const taken = await server.call("POST", "/v1/tasks/checked/start", {
      body: { payload: { items: [{ name: "x" }] } },
    });
    assert.equal(taken.status, 201, JSON.stringify(taken.body));
  });
});
