import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "../../../src/db/sql.ts";
import { digestOf, startApiServer, type ApiServer } from "../../support/api-server.ts";
import {
  BUNDLE,
  createBody,
  createDeployment,
  createReadyDeployment,
  leaseCheck,
  promote,
  startWorker,
  uploadBundle,
} from "../../support/deploy.ts";

describe("deployments", () => {
  let server: ApiServer;
  let worker: string;
  before(async () => {
    server = await startApiServer();
    worker = await startWorker(server);
  });
  after(() => server.stop());

  const kindsOf = async (id: string): Promise<string[]> =>
    (await server.call("GET", `/v1/deployments/${id}/events`)).body.events.map(
      (event: { kind: string }) => event.kind,
    );

  test("a bundle is stored under its digest, and a repeat is harmless", async () => {
    for (const family of ["v1", "api"]) {
      const selection = family === "api" ? `?environment_id=${server.credentials.environment_id}` : "";
      const answer = await server.call(
        "PUT",
        `/${family}/deployment-bundles/${digestOf(BUNDLE)}${selection}`,
        { bytes: BUNDLE },
      );
      assert.deepEqual(
        [answer.status, answer.body],
        [200, { digest: digestOf(BUNDLE), size_bytes: BUNDLE.length }],
      );
    }
  });

  test("bytes of another digest are refused naming both", async () => {
    const other = "0".repeat(64);
    const answer = await server.call("PUT", `/v1/deployment-bundles/${other}`, { bytes: BUNDLE });
    assert.deepEqual([answer.status, answer.body.error.code], [400, "invalid_request"]);
    assert.match(answer.body.error.message, new RegExp(`${digestOf(BUNDLE)}.*${other}`));
  });

  test("a digest that is none, and a bundle sent as JSON, are refused", async () => {
    assert.equal(
      (await server.call("PUT", "/v1/deployment-bundles/abc", { bytes: BUNDLE })).body.error.code,
      "invalid_request",
    );
    const json = await server.call("PUT", `/v1/deployment-bundles/${digestOf(BUNDLE)}`, { body: {} });
    assert.deepEqual([json.status, json.body.error.code], [415, "unsupported_media_type"]);
  });

  test("a deployment needs its bundle", async () => {
    const answer = await server.call("POST", "/v1/deployments", {
      body: createBody({ tasks: [] }, { bundle_digest: "1".repeat(64) }),
    });
    assert.deepEqual([answer.status, answer.body.error.code], [409, "bundle_missing"]);
  });

  test("a created deployment is pending, records versions and is not current", async () => {
    await uploadBundle(server);
    const answer = await server.call("POST", "/v1/deployments", {
      body: createBody(
        { tasks: [{ id: "a" }], queues: [{ name: "q", concurrency_limit: 2 }] },
        { git: { branch: "main" } },
      ),
      headers: {
        "service-cli-version": "1.2.3",
        "service-sdk-version": "4.5.6",
        "service-client-version": "x/7",
      },
    });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    const { id: _, version, created_at, updated_at, ...rest } = answer.body;
    assert.match(version, /^\d{8}\.\d+$/);
    assert.equal(version.slice(0, 8), created_at.slice(0, 10).replaceAll("-", ""));
    assert.equal(updated_at, created_at);
    assert.deepEqual(rest, {
      project_id: server.credentials.project_id,
      environment_id: server.credentials.environment_id,
      status: "pending",
      is_current: false,
      promoted_at: null,
      api_version: "2026-06-06",
      cli_version: "1.2.3",
      sdk_version: "4.5.6",
      client_version: "x/7",
      bundle_format_version: 1,
      worker_protocol_version: 1,
      bundle: { digest: digestOf(BUNDLE), size_bytes: BUNDLE.length },
      node_version: null,
      platform: null,
      tasks: [{ id: "a" }],
      actors: [],
      sandboxes: [],
      schedules: [],
      queues: [{ name: "q", concurrency_limit: 2 }],
      git: { branch: "main" },
      error: null,
    });
    const item = await server.call("GET", `/v1/deployments/${answer.body.id}`);
    assert.deepEqual(item.body, answer.body);
    assert.deepEqual(await kindsOf(answer.body.id), ["deployment.created"]);
    // Leaves nothing for the checks of other tests.
    await server.db.query(sql`UPDATE deployments SET status = 'failed' WHERE status = 'pending'`);
  });

  for (const [what, manifest, path] of [
    ["a task declared twice", { tasks: [{ id: "a" }, { id: "b" }, { id: "a" }] }, "manifest.tasks.2.id"],
    [
      "a queue declared twice",
      { tasks: [], queues: [{ name: "q" }, { name: "q" }] },
      "manifest.queues.1.name",
    ],
    [
      "a schema that is none",
      { tasks: [{ id: "a" }, { id: "b", payload_schema: { type: "strong" } }] },
      "manifest.tasks.1.payload_schema",
    ],
    [
      "a reference to elsewhere",
      { tasks: [{ id: "a", payload_schema: { $ref: "https://example.com/s" } }] },
      "manifest.tasks.0.payload_schema",
    ],
    [
      "an asynchronous schema",
      { tasks: [{ id: "a", payload_schema: { $async: true } }] },
      "manifest.tasks.0.payload_schema.$async",
    ],
    [
      "a long pattern",
      { tasks: [{ id: "a", payload_schema: { properties: { b: { pattern: "a".repeat(257) } } } }] },
      "manifest.tasks.0.payload_schema.properties.b.pattern",
    ],
    [
      "a schema over 64 KiB",
      { tasks: [{ id: "a", payload_schema: { description: "x".repeat(65_536) } }] },
      "manifest.tasks.0.payload_schema",
    ],
    [
      "a tool that is named as the server's own",
      { tasks: [{ id: "keelson_get_run", mcp: { description: "Another." } }] },
      "manifest.tasks.0.mcp",
    ],
    [
      "a tool that is an actor",
      { tasks: [], actors: [{ id: "a", mcp: { description: "Talks." } }] },
      "manifest.actors.0.mcp",
    ],
    ["a duration beyond all clocks", { tasks: [{ id: "a", ttl: "999999999999d" }] }, "manifest.tasks.0.ttl"],
  ] as const) {
    test(`${what} is refused naming its place`, async () => {
      const answer = await server.call("POST", "/v1/deployments", { body: createBody(manifest as never) });
      assert.deepEqual(
        [answer.status, answer.body.error.code],
        [400, "invalid_request"],
        JSON.stringify(answer.body),
      );
      assert.equal(answer.body.error.details.issues[0].path, path);
    });
  }

  test("versions that this server does not speak are refused", async () => {
    const format = await server.call("POST", "/v1/deployments", {
      body: createBody({ tasks: [] }, { bundle_format_version: 3 }),
    });
    assert.deepEqual(
      [format.status, format.body.error.details.issues[0].path],
      [400, "bundle_format_version"],
    );
    const protocol = await server.call("POST", "/v1/deployments", {
      body: createBody({ tasks: [] }, { worker_protocol_version: 9 }),
    });
    assert.deepEqual([protocol.status, protocol.body.error.code], [400, "unsupported_worker_protocol"]);
  });

  test("one key creates one deployment, however many requests race", async () => {
    await uploadBundle(server);
    const body = createBody({ tasks: [{ id: "raced" }] }, { idempotency_key: "race" });
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => server.call("POST", "/v1/deployments", { body })),
    );
    assert.deepEqual(
      answers.map((answer) => answer.status),
      Array.from({ length: 8 }, () => 201),
    );
    assert.equal(new Set(answers.map((answer) => JSON.stringify(answer.body))).size, 1);
    assert.equal(answers.filter((answer) => answer.headers.get("idempotency-replayed") === "true").length, 7);
    const other = await server.call("POST", "/v1/deployments", {
      body: createBody({ tasks: [] }, { idempotency_key: "race" }),
    });
    assert.deepEqual([other.status, other.body.error.code], [409, "idempotency_conflict"]);
    await server.db.query(sql`UPDATE deployments SET status = 'failed' WHERE status = 'pending'`);
  });

  test("versions count up without gap or repeat when creations race", async () => {
    await uploadBundle(server);
    const created = await Promise.all(
      Array.from({ length: 6 }, () => createDeployment(server, { tasks: [] })),
    );
    const numbers = created.map(({ version }) => Number(version.split(".")[1])).sort((a, b) => a - b);
    assert.deepEqual(
      numbers,
      Array.from({ length: 6 }, (_, index) => (numbers[0] as number) + index),
    );
    await server.db.query(sql`UPDATE deployments SET status = 'failed' WHERE status = 'pending'`);
  });

  test("a pending deployment cannot be promoted; a ready one becomes current and its predecessor is demoted", async () => {
    const first = await createReadyDeployment(server, worker, { tasks: [{ id: "a" }] });
    assert.equal((await promote(server, first.id)).is_current, true);
    const pending = await createDeployment(server, { tasks: [] });
    const refused = await server.call("POST", `/v1/deployments/${pending.id}/promote`);
    assert.deepEqual([refused.status, refused.body.error.code], [409, "invalid_state"]);
    await server.db.query(sql`UPDATE deployments SET status = 'failed' WHERE status = 'pending'`);
    const second = await createReadyDeployment(server, worker, { tasks: [{ id: "b" }] });
    const promoted = await promote(server, second.id);
    assert.deepEqual([promoted.is_current, promoted.status], [true, "ready"]);
    assert.notEqual(promoted.promoted_at, null);
    assert.equal((await server.call("GET", "/v1/deployments/current")).body.id, second.id);
    assert.equal((await server.call("GET", `/v1/deployments/${first.id}`)).body.is_current, false);
    const lifeOfFirst = [
      "deployment.created",
      "deployment.ready",
      "deployment.promoted",
      "deployment.demoted",
    ];
    assert.deepEqual(await kindsOf(first.id), lifeOfFirst);
    // Again: nothing changes. Back: the rollback.
    await promote(server, second.id);
    assert.deepEqual((await kindsOf(second.id)).filter((kind) => kind === "deployment.promoted").length, 1);
    await promote(server, first.id);
    assert.equal((await server.call("GET", "/v1/deployments/current")).body.id, first.id);
    assert.deepEqual(await kindsOf(first.id), [...lifeOfFirst, "deployment.promoted"]);
  });

  test("promotion puts the declared queue limits in force and takes undeclared ones back", async () => {
    const limits = (): Promise<object[]> =>
      server.db.query(
        sql`SELECT name, concurrency_limit AS total, concurrency_key_limit AS key FROM queues WHERE name LIKE 'limits/%' ORDER BY name`,
      );
    const one = await createReadyDeployment(server, worker, {
      tasks: [],
      queues: [
        { name: "limits/a", concurrency_limit: 3 },
        { name: "limits/b", concurrency_limit: 1, concurrency_key_limit: 2 },
      ],
    });
    const two = await createReadyDeployment(server, worker, {
      tasks: [],
      queues: [{ name: "limits/a", concurrency_limit: 5 }],
    });
    await promote(server, one.id);
    assert.deepEqual(await limits(), [
      { name: "limits/a", total: 3, key: 1 },
      { name: "limits/b", total: 1, key: 2 },
    ]);
    await promote(server, two.id);
    assert.deepEqual(await limits(), [
      { name: "limits/a", total: 5, key: 1 },
      { name: "limits/b", total: null, key: 1 },
    ]);
  });

  test("a worker that does not find what the manifest declares fails the deployment by name", async () => {
    const deployment = await createDeployment(server, { tasks: [{ id: "here" }, { id: "gone" }] });
    const check = await leaseCheck(server, worker);
    const body = {
      deployment_id: check.deployment_id,
      check_id: check.check_id,
      status: "ready",
      entrypoints: [{ kind: "task", declared_id: "here" }],
    };
    const settled = await server.call("POST", "/worker/v1/deployments/checked", { as: worker, body });
    assert.deepEqual([settled.status, settled.body.status], [200, "failed"]);
    const item = await server.call("GET", `/v1/deployments/${deployment.id}`);
    assert.equal(item.body.status, "failed");
    assert.match(item.body.error.message, /task "gone"/);
    assert.doesNotMatch(item.body.error.message, /"here"/);
    // A repeat of the answer changes nothing.
    const again = await server.call("POST", "/worker/v1/deployments/checked", { as: worker, body });
    assert.deepEqual([again.status, again.body.status], [200, "failed"]);
    assert.deepEqual(await kindsOf(deployment.id), ["deployment.created", "deployment.failed"]);
  });

  test("a check that infrastructure interrupts says so and is made again, and the eighth one fails the deployment", async () => {
    const deployment = await createDeployment(server, { tasks: [] });
    const error = { message: "Something outside the worker ended the process by SIGKILL.", stack: null };
    const statuses: string[] = [];
    for (let number = 1; number <= 8; number += 1) {
      const { check_id } = await leaseCheck(server, worker);
      const body = { deployment_id: deployment.id, check_id, status: "interrupted", error };
      const settled = await server.call("POST", "/worker/v1/deployments/checked", { as: worker, body });
      statuses.push(settled.body.status);
      if (number === 8) break;
      const pending = await server.call("GET", `/v1/deployments/${deployment.id}`);
      assert.match(
        pending.body.error.message,
        /The check of the bundle was interrupted \(\d of 8\).*SIGKILL/,
      );
      assert.equal(await leaseCheck(server, worker), null);
      await server.db.query(
        sql`UPDATE deployments SET check_expires_at = now() - interval '1 second' WHERE status = 'pending'`,
      );
    }
    assert.deepEqual(statuses, [...Array.from({ length: 7 }, () => "pending"), "failed"]);
    const { body } = await server.call("GET", `/v1/deployments/${deployment.id}`);
    assert.match(body.error.message, /8 checks of the bundle were interrupted by infrastructure/);
  });

  test("lists are newest first, by pages without gap or repeat, and filtered by status", async () => {
    const all: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<ApiServer["call"]>> = await server.call(
        "GET",
        `/v1/deployments?limit=3${cursor === null ? "" : `&cursor=${cursor}`}`,
      );
      assert.equal(page.status, 200, JSON.stringify(page.body));
      all.push(...page.body.deployments.map((deployment: { id: string }) => deployment.id));
      cursor = page.body.next_cursor;
    } while (cursor !== null);
    assert.deepEqual(all, [...new Set(all)].sort().reverse());
    const filtered = await server.call("GET", "/v1/deployments?status=ready&limit=200");
    assert.ok(filtered.body.deployments.length > 0);
    assert.ok(
      filtered.body.deployments.every((deployment: { status: string }) => deployment.status === "ready"),
    );
    const foreign = await server.call("GET", "/v1/deployments?cursor=nonsense");
    assert.deepEqual([foreign.status, foreign.body.error.code], [400, "invalid_cursor"]);
  });

  test("events page on /v1 and stream on /api until a deployment that failed ends them", async () => {
    const deployment = await createDeployment(server, { tasks: [] });
    const selection = `environment_id=${server.credentials.environment_id}&project_id=${server.credentials.project_id}`;
    const response = await fetch(
      `${server.url}/api/deployments/${deployment.id}/events?follow=1&${selection}`,
      {
        headers: { authorization: `Bearer ${server.credentials.user_token}` },
      },
    );
    assert.equal(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
    const check = await leaseCheck(server, worker);
    const body = {
      deployment_id: check.deployment_id,
      check_id: check.check_id,
      status: "failed",
      error: { message: "no export" },
    };
    await server.call("POST", "/worker/v1/deployments/checked", { as: worker, body });
    const text = await response.text();
    assert.deepEqual(
      [...text.matchAll(/^event: (.*)$/gm)].map((match) => match[1]),
      ["deployment_event", "deployment_event", "end"],
    );
    assert.match(text, /"kind":"deployment.failed","message":"no export"/);
    const page = await server.call("GET", `/v1/deployments/${deployment.id}/events?limit=1`);
    assert.deepEqual([page.body.events.length, page.body.events[0].id, page.body.next_cursor], [1, "1", "1"]);
    const rest = await server.call("GET", `/v1/deployments/${deployment.id}/events?cursor=1`);
    assert.deepEqual([rest.body.events[0].id, rest.body.next_cursor], ["2", null]);
  });

  test("a malformed, absent or foreign id is the same 404", async () => {
    const bodies = new Set<string>();
    for (const id of ["nonsense", "dep_01kahvq3rsfp29yqs8vqge3t2d", server.credentials.project_id]) {
      for (const [method, path] of [
        ["GET", ""],
        ["GET", "/events"],
        ["POST", "/promote"],
      ] as const) {
        const answer = await server.call(method, `/v1/deployments/${id}${path}`);
        assert.equal(answer.status, 404);
        bodies.add(JSON.stringify({ ...answer.body.error, request_id: "" }));
      }
    }
    assert.equal(bodies.size, 1);
  });
});
