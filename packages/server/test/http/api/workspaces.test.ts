import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startApiServer, type ApiServer } from "../../support/api-server.ts";
import { createReadyDeployment, promote, startWorker } from "../../support/deploy.ts";
import { workspaceCalls, type WorkspaceCalls } from "../../support/workspaces.ts";

describe("workspaces", () => {
  let server: ApiServer;
  let calls: WorkspaceCalls;
  before(async () => {
    server = await startApiServer();
    calls = workspaceCalls(server);
  });
  after(() => server.stop());

  test("one is created empty with a first version, is found, changed and deleted", async () => {
    const body = { external_id: "ticket-1", metadata: { a: 1 }, tags: ["x"] };
    const created = await calls.create(body);
    assert.match(created.id, /^ws_/);
    assert.deepEqual(
      [
        created.status,
        created.sandbox,
        created.materialization,
        created.metadata,
        created.tags,
        created.external_id,
      ],
      ["active", "default", null, { a: 1 }, ["x"], "ticket-1"],
    );
    const path = `/api/workspaces/${created.id}`;
    assert.deepEqual((await server.call("GET", path)).body, created);
    assert.deepEqual((await server.call("GET", `/v1/workspaces/${created.id}`)).body, created);
    const { body: first } = await server.call("GET", `${path}/versions/${created.current_version_id}`);
    assert.deepEqual(
      [first.number, first.status, first.cause, first.file_count, first.size_bytes, first.parent_version_id],
      [1, "ready", { kind: "create", id: null }, 0, 0, null],
    );
    assert.deepEqual(await calls.files(created.id), []);
    const taken = await server.call("POST", "/api/workspaces", { body });
    assert.deepEqual([taken.status, taken.body.error.code], [409, "already_exists"]);
    const changed = await server.call("PATCH", path, { body: { tags: ["y"] } });
    assert.deepEqual([changed.body.tags, changed.body.metadata], [["y"], { a: 1 }]);
    const found = await server.call("GET", "/api/workspaces?external_id=ticket-1&tag=y&sandbox=default");
    assert.deepEqual(
      found.body.workspaces.map(({ id }: { id: string }) => id),
      [created.id],
    );
    const deleted = await server.call("DELETE", path);
    assert.deepEqual([deleted.status, deleted.body.status], [200, "deleted"]);
    assert.equal((await server.call("DELETE", `/v1/workspaces/${created.id}`)).body.status, "deleted");
    assert.equal((await server.call("GET", path)).body.status, "deleted");
    for (const gone of ["/files", "/versions", `/versions/${created.current_version_id}`, "/files/stat"])
      assert.equal((await server.call("GET", path + gone)).status, 404, gone);
    assert.equal((await server.call("PATCH", path, { body: { tags: [] } })).status, 404);
    const listed = await server.call("GET", "/v1/workspaces?external_id=ticket-1");
    assert.deepEqual(listed.body.workspaces, []);
    // The external id is free again.
    await calls.create(body);
  });

  test("a repeated creation with a key gives the first one's answer", async () => {
    const body = { idempotency_key: "once", tags: ["k"] };
    const first = await server.call("POST", "/api/workspaces", { body });
    const again = await server.call("POST", "/api/workspaces", { body });
    assert.deepEqual([again.status, again.text], [201, first.text]);
    assert.equal(again.headers.get("idempotency-replayed"), "true");
    const other = await server.call("POST", "/api/workspaces", { body: { ...body, tags: [] } });
    assert.deepEqual([other.status, other.body.error.code], [409, "idempotency_conflict"]);
  });

  test("pages of workspaces and of versions follow each other without gap or repeat", async () => {
    const { id } = await calls.create({ tags: ["paged"] });
    for (let i = 0; i < 6; i += 1) await calls.write(id, "f", `content ${i}`);
    await calls.create({ tags: ["paged"] });
    await calls.create({ tags: ["paged"] });
    const collect = async (path: string, plural: string): Promise<string[]> => {
      const seen: string[] = [];
      for (let cursor: string | null = ""; cursor !== null;) {
        const { status, body, text } = await server.call(
          "GET",
          `${path}limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`,
        );
        assert.equal(status, 200, text);
        seen.push(
          ...body[plural].map((row: { id: string; number?: number }) => String(row.number ?? row.id)),
        );
        cursor = body.next_cursor;
      }
      return seen;
    };
    assert.deepEqual(await collect(`/api/workspaces/${id}/versions?`, "versions"), [
      "7",
      "6",
      "5",
      "4",
      "3",
      "2",
      "1",
    ]);
    assert.equal(new Set(await collect("/api/workspaces?tag=paged&", "workspaces")).size, 3);
    const wrong = await server.call("GET", `/api/workspaces/${id}/versions?cursor=abc`);
    assert.deepEqual([wrong.status, wrong.body.error.code], [400, "invalid_cursor"]);
    for (const limit of ["0", "201", "x"])
      assert.equal((await server.call("GET", `/api/workspaces/${id}/versions?limit=${limit}`)).status, 400);
  });

  test("a fork begins with the files of its version and goes its own way", async () => {
    const one = await calls.create();
    await calls.write(one.id, "a.txt", "first");
    const { version_id: old } = await calls.write(one.id, "dir/b.txt", "second");
    await calls.write(one.id, "a.txt", "changed");
    const fork = await calls.create({ from_version_id: old });
    assert.deepEqual(await calls.files(fork.id), ["file a.txt", "directory dir"]);
    assert.equal(await calls.read(fork.id, "a.txt"), "first");
    await calls.write(fork.id, "a.txt", "forked");
    assert.equal(await calls.read(one.id, "a.txt"), "changed");
    // The fork outlives what it was made from.
    assert.equal((await server.call("DELETE", `/api/workspaces/${one.id}`)).status, 200);
    assert.equal(await calls.read(fork.id, "dir/b.txt"), "second");
    const { body } = await server.call("GET", `/api/workspaces/${fork.id}/versions`);
    assert.equal(body.versions.at(-1).parent_version_id, old);
    const gone = await server.call("POST", "/api/workspaces", { body: { from_version_id: old } });
    assert.deepEqual([gone.status, gone.body.error.code], [400, "invalid_request"]);
  });

  test("an old version is compared, restored and compared again", async () => {
    const { id, current_version_id: empty } = await calls.create();
    const { version_id: first } = await calls.write(id, "keep", "k");
    await calls.write(id, "change", "one");
    const { version_id: third } = await calls.write(id, "change", "two", "&mode=755");
    const path = `/api/workspaces/${id}/versions`;
    const changes = async (version: string, base?: string) => {
      const { body } = await server.call(
        "GET",
        `${path}/${version}/diff${base === undefined ? "" : `?base=${base}`}`,
      );
      return body.changes.map((c: { change: string; path: string }) => `${c.change} ${c.path}`);
    };
    assert.deepEqual(await changes(third), ["modified change"]);
    assert.deepEqual(await changes(third, first), ["added change"]);
    assert.deepEqual(await changes(first, third), ["removed change"]);
    assert.deepEqual(await changes(third, empty), ["added change", "added keep"]);
    assert.deepEqual(await changes(empty), []);
    const { body: diff } = await server.call("GET", `${path}/${third}/diff?limit=1&base=${empty}`);
    assert.equal(diff.changes[0].after.mode, "0755");
    const next = await server.call(
      "GET",
      `${path}/${third}/diff?limit=1&base=${empty}&cursor=${diff.next_cursor}`,
    );
    assert.deepEqual([next.body.changes[0].path, next.body.next_cursor], ["keep", null]);
    const restored = await server.call("POST", `${path}/${first}/restore`);
    assert.deepEqual(
      [restored.status, restored.body.number, restored.body.parent_version_id],
      [201, 5, third],
    );
    assert.deepEqual(await calls.files(id), ["file keep"]);
    const again = await server.call("POST", `${path}/${first}/restore`);
    assert.deepEqual([again.status, again.body.id], [200, restored.body.id]);
    assert.deepEqual(await changes(restored.body.id), ["removed change"]);
  });

  test("racing writers each keep the other's change", async () => {
    const { id } = await calls.create();
    const paths = Array.from({ length: 8 }, (_, i) => `file-${i}`);
    await Promise.all(paths.map((path) => calls.write(id, path, path)));
    assert.deepEqual(
      await calls.files(id),
      paths.map((path) => `file ${path}`),
    );
    const { body } = await server.call("GET", `/api/workspaces/${id}/versions`);
    assert.deepEqual(
      body.versions.map(({ number }: { number: number }) => number),
      [9, 8, 7, 6, 5, 4, 3, 2, 1],
    );
  });

  test("the default sandbox is always there; declared ones are the current deployment's", async () => {
    const { body: none } = await server.call("GET", "/v1/sandboxes");
    assert.deepEqual(
      none.sandboxes.map(({ declared_id, deployment_id, isolation, network }: Record<string, string>) => [
        declared_id,
        deployment_id,
        isolation,
        network,
      ]),
      [["default", null, "process", "on"]],
    );
    const worker = await startWorker(server);
    const deployment = await createReadyDeployment(server, worker, {
      tasks: [{ id: "t", sandbox: "node" }],
      sandboxes: [
        {
          id: "node",
          isolation: "namespace",
          network: "off",
          setup: ["npm ci"],
          env: { CI: "1" },
          resources: { cpu: 2 },
        },
        { id: "plain" },
      ],
    });
    await promote(server, deployment.id);
    const { body } = await server.call("GET", "/v1/sandboxes");
    assert.deepEqual(body.sandboxes.map((s: { declared_id: string }) => s.declared_id).sort(), [
      "default",
      "node",
      "plain",
    ]);
    const node = body.sandboxes.find((s: { declared_id: string }) => s.declared_id === "node");
    assert.deepEqual(
      [node.deployment_id, node.isolation, node.network, node.setup, node.env, node.resources],
      [deployment.id, "namespace", "off", ["npm ci"], { CI: "1" }, { cpu: 2, memory: null }],
    );
    assert.deepEqual((await server.call("GET", `/v1/sandboxes/${node.id}`)).body, node);
    const made = await server.call("POST", `/v1/sandboxes/${node.id}/workspaces`, { body: { tags: ["n"] } });
    assert.deepEqual([made.status, made.body.sandbox, made.body.tags], [201, "node", ["n"]]);
    await promote(server, (await createReadyDeployment(server, worker, { tasks: [] })).id);
    assert.equal((await server.call("GET", `/v1/sandboxes/${node.id}`)).status, 404);
    const refused = await server.call("POST", "/api/workspaces", { body: { sandbox: "node" } });
    assert.deepEqual([refused.status, refused.body.error.details.issues[0].path], [400, "sandbox"]);
    const fork = await calls.create({ from_version_id: made.body.current_version_id });
    assert.equal(fork.sandbox, "node");
  });

  test("a manifest that names a sandbox it does not declare is refused", async () => {
    const manifest = { tasks: [{ id: "t", sandbox: "absent" }], sandboxes: [{ id: "s" }, { id: "s" }] };
    const body = {
      manifest,
      bundle_digest: "0".repeat(64),
      bundle_format_version: 1,
      worker_protocol_version: 1,
    };
    const answer = await server.call("POST", "/v1/deployments", { body });
    assert.deepEqual(
      answer.body.error.details.issues.map(({ path }: { path: string }) => path).sort(),
      ["manifest.sandboxes.1.id", "manifest.tasks.0.sandbox"],
      answer.text,
    );
  });
});
