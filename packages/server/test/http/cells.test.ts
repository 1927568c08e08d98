// The tag of a cell in new credentials: in all of them, from the moment in which an installation has one, and not before.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, afterEach, before, describe, test } from "node:test";
import { decodeId, formatRunToken, readCredential, readRunToken, type Uuid } from "@keelson/contract";
import { ConfigError, loadConfig } from "../../src/config.ts";
import { createRunTokens } from "../../src/core/credentials/run-token.ts";
import { makeCredentials } from "../../src/core/identity/make-credentials.ts";
import { createDatabase } from "../../src/db/pool.ts";
import { sql } from "../../src/db/sql.ts";
import { startServer, type RunningServer } from "../../src/server.ts";
import { startApiServer, TEST_MASTER_KEY, type Answer, type ApiServer } from "../support/api-server.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { enrollWorker } from "../support/raw-worker.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { addUser } from "../support/tenancy.ts";
import { makeTestFolder, removeTestFolder } from "../support/test-folder.ts";
import { until } from "../support/until.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const cellOf = (credential: string): string | null => {
  const parts = readCredential(credential);
  assert.ok(parts !== null, `${credential} is no credential`);
  return parts.cell;
};
const callbackSecret = (url: string): string => url.split("/").at(-1) as string;
const pathOf = (url: string): string => new URL(url).pathname;

/** Another server on the database of the first one, with a folder and credentials of its own. */
const startBeside = (
  database: TestDatabase,
  cell: string | null,
  options: Parameters<typeof startApiServer>[0] = {},
): Promise<ApiServer> =>
  startApiServer({ ...options, database: { ...database, drop: async () => undefined }, config: { cell } });

/** A start that may be refused, in a folder that goes with the tests. */
async function startOnce({ url: databaseUrl }: TestDatabase, cell: string): Promise<RunningServer> {
  const dataDir = await makeTestFolder();
  folders.push(dataDir);
  const config = { ...loadConfig({ PORT: "0" }), masterKey: TEST_MASTER_KEY, logLevel: "error" };
  return startServer({ ...config, databaseUrl, dataDir, cell });
}
const folders: string[] = [];
after(() => Promise.all(folders.map(removeTestFolder)));

describe("an installation with a tag", () => {
  let scene: RunScene;
  before(async () => {
    scene = await startRunScene(
      { tasks: [{ id: "plain" }], actors: [{ id: "chat" }] },
      { config: { cell: "eu1" } },
    );
  });
  after(() => scene.stop());
  afterEach(() => scene.cancelAll());

  test("puts it into every kind of credential that it makes", async () => {
    const { server, worker } = scene;
    const { api_key, user_token, admin_key, capacity_key, enrollment_token } = server.credentials;
    const { body: token } = await scene.call("POST", "/v1/tokens", { body: {} });
    const { body: session } = await scene.call("POST", "/v1/sessions", { body: { actor: "chat" } });
    const shared = { type: "session.output.read", session: { type: "id", id: session.id }, stream: "output" };
    const access = await scene.call("POST", "/api/public-access-tokens", { body: { scope: shared } });
    const invited = await server.call("POST", "/admin/api/v1/enrollment-tokens", {
      as: admin_key,
      body: { name: "more", worker_group_id: await groupOf(scene) },
    });
    await scene.start("plain");
    const lease = await worker.takeOne();
    const made = {
      ...{ api_key, user_token, admin_key, capacity_key, enrollment_token },
      worker: worker.token,
      completion: token.public_access_token,
      callback: callbackSecret(token.callback_url),
      access: access.body.public_access_token,
      invited: invited.body.enrollment_token,
      run: lease.execution.run_token,
    };
    for (const [what, text] of Object.entries(made)) assert.equal(cellOf(text), "eu1", what);
  });

  test("takes them for what they are", async () => {
    const { server } = scene;
    const { body: first } = await scene.call("POST", "/v1/tokens", { body: {} });
    const called = await server.call("POST", pathOf(first.callback_url), { as: null, body: { paid: 1 } });
    assert.deepEqual([called.status, called.body.token?.data], [200, { paid: 1 }]);
    const { body: second } = await scene.call("POST", "/v1/tokens", { body: {} });
    const path = `/api/v1/tokens/${second.id}/complete`;
    const completed = await server.call("POST", path, { as: second.public_access_token, body: { data: 2 } });
    assert.equal(completed.status, 200, completed.text);
    assert.equal((await server.call("GET", "/api/me", { as: await addUser(server, "owner") })).status, 200);
  });

  test("shows no tag in the answer of a creation, and no path of a callback in its log", async () => {
    const { body } = await scene.call("POST", "/v1/tokens", { body: { idempotency_key: "k" } });
    const again = await scene.call("POST", "/v1/tokens", { body: { idempotency_key: "k" } });
    assert.deepEqual([again.body, "cell" in body], [body, false]);
    const refused = await scene.server.call("GET", `/nowhere/${body.public_access_token}`);
    assert.match(refused.body.error.message, /GET \/nowhere\/\[redacted\];/);
  });

  test("refuses the token of a run whose tag was changed", async () => {
    const run = await scene.start("plain");
    const lease = await scene.worker.takeOne();
    const { environment_id, epoch } = lease.fields;
    const of = {
      environmentId: decodeId("env", environment_id) as Uuid<"env">,
      runId: decodeId("run", run.id) as Uuid<"run">,
      epoch,
    };
    const statusOf = async (token: string): Promise<number> =>
      (await scene.server.call("GET", "/v1/runs", { as: token })).status;
    const made = createRunTokens(TEST_MASTER_KEY, "eu1").make(of);
    const changed = formatRunToken(readRunToken(made) as Uint8Array, "us1");
    assert.deepEqual([made, await statusOf(made)], [lease.execution.run_token, 200]);
    assert.deepEqual([cellOf(changed), await statusOf(changed)], ["us1", 401]);
    // As a server makes it that was started before the tag was set.
    assert.equal(await statusOf(createRunTokens(TEST_MASTER_KEY).make(of)), 200);
    assert.equal(await statusOf(createRunTokens(Buffer.alloc(32, "other"), "eu1").make(of)), 401);
  });
});

async function groupOf(scene: RunScene): Promise<string> {
  const { body } = await scene.server.call("GET", "/admin/api/v1/worker-groups", {
    as: scene.server.credentials.admin_key,
  });
  return body.worker_groups[0].id;
}

describe("a tag that a running installation gets", () => {
  let database: TestDatabase;
  let scene: RunScene;
  /** It was started before the tag was set, and goes on beside the server that has the tag. */
  let plain: ApiServer;
  let tagged: ApiServer;
  before(async () => {
    database = await createTestDatabase();
    scene = await startRunScene({ tasks: [{ id: "plain" }], actors: [{ id: "chat" }] }, { database });
    plain = scene.server;
    tagged = await startBeside(database, "eu1", { clock: scene.clock.now });
  });
  after(async () => {
    await tagged.stop();
    await scene.stop();
  });
  afterEach(() => scene.cancelAll());

  const create = async (server: ApiServer, path: string, body: object): Promise<Json> => {
    const answer = await server.call("POST", path, { as: plain.credentials.api_key, body });
    assert.equal(answer.status, 201, answer.text);
    return answer.body;
  };

  for (const [first, cell] of [
    ["plain", null],
    ["tagged", "eu1"],
  ] as const) {
    const servers = (): [ApiServer, ApiServer] => (first === "plain" ? [plain, tagged] : [tagged, plain]);

    test(`changes no token that the ${first} server created, for its repeats and its callback URL`, async () => {
      const [by, other] = servers();
      const body = { idempotency_key: `token by ${first}` };
      const created = await create(by, "/v1/tokens", body);
      const repeated = await create(other, "/v1/tokens", body);
      assert.equal(cellOf(created.public_access_token), cell);
      for (const { public_access_token: token, callback_url: url } of [
        repeated,
        await create(by, "/v1/tokens", body),
      ])
        assert.deepEqual([token, pathOf(url)], [created.public_access_token, pathOf(created.callback_url)]);
      const path = pathOf(created.callback_url);
      const called = [
        await other.call("POST", path, { as: null }),
        await by.call("POST", path, { as: null }),
      ];
      assert.deepEqual(
        called.map(({ body: { status } }) => status),
        ["completed", "already_completed"],
      );
    });

    test(`changes no public access token that the ${first} server created`, async () => {
      const [by, other] = servers();
      const session = await create(by, "/v1/sessions", { actor: "chat" });
      const scope = {
        type: "session.output.read",
        session: { type: "id", id: session.id },
        stream: "output",
      };
      const body = { scope, idempotency_key: `access by ${first}` };
      const created = await create(by, "/api/public-access-tokens", body);
      assert.equal(cellOf(created.public_access_token), cell);
      assert.deepEqual(await create(other, "/api/public-access-tokens", body), created);
      const read = `/api/v1/sessions/${session.id}/outputs/output/read?wait=0s`;
      for (const server of [by, other])
        assert.equal((await server.call("GET", read, { as: created.public_access_token })).status, 200);
    });

    test(`changes no token of a run's journal that the ${first} server wrote`, async () => {
      const [by, other] = servers();
      await scene.start("plain");
      const lease = await scene.worker.takeOne();
      const report = async (server: ApiServer, operations: Json[]): Promise<Json[]> => {
        const answer: Answer = await server.call("POST", "/worker/v1/executions/report", {
          as: scene.worker.token,
          body: { operations },
        });
        assert.equal(answer.status, 200, answer.text);
        return answer.body.results;
      };
      await report(by, [lease.operation("start")]);
      const operation = lease.operation("tokens", { position: 1, timeout: "1h" });
      const [created] = await report(by, [operation]);
      const [repeated] = await report(other, [operation]);
      const { id, public_access_token: token, callback_url: url, ...rest } = created.result.value;
      assert.deepEqual([cellOf(token), cellOf(callbackSecret(url))], [cell, cell]);
      assert.deepEqual(Object.keys(rest), ["timeout_at"]);
      const secretsOf = (value: Json): string[] => [value.public_access_token, pathOf(value.callback_url)];
      assert.deepEqual(secretsOf(repeated.result.value), [token, pathOf(url)]);
      const wait = { position: 2, name: "timer", kind: "timer", timeout: "1s" };
      await report(by, [
        lease.operation("waits", { waits: [wait], parked: true }),
        lease.operation("checkpoints/ready"),
        lease.operation("release", { outcome: "suspended" }),
      ]);
      scene.clock.advance(2_000);
      const replayed = await leaseAt(other, scene);
      assert.deepEqual(secretsOf(replayed.journal[0].value), [token, pathOf(url)]);
      assert.equal((await other.call("POST", pathOf(url), { as: null })).body.token.id, id);
    });
  }

  test("leaves all credentials valid at both servers", async () => {
    for (const server of [plain, tagged])
      for (const { credentials } of [plain, tagged])
        assert.equal((await server.call("GET", "/api/me", { as: credentials.api_key })).status, 200);
    const workers = [await enrollWorker(plain), await enrollWorker(tagged)];
    assert.deepEqual(
      workers.map(({ token }) => cellOf(token)),
      [null, "eu1"],
    );
  });

  test("is kept by a server without the setting, and refused in another form", async () => {
    const restarted = await startBeside(database, null, { clock: scene.clock.now });
    try {
      assert.equal(cellOf(restarted.credentials.api_key), "eu1");
    } finally {
      await restarted.stop();
    }
    await assert.rejects(
      startOnce(database, "us1"),
      (error) =>
        error instanceof ConfigError &&
        error.exitCode === 78 &&
        /KEELSON_CELL is "us1", and this installation is the cell "eu1".*Set KEELSON_CELL to "eu1" or unset it/s.test(
          error.message,
        ),
    );
  });
});

/** Leases the run that is due, at one server. */
async function leaseAt(server: ApiServer, { worker }: RunScene): Promise<Json> {
  let execution: Json;
  await until("the run is due", 30_000, async () => {
    const answer = await server.call("POST", "/worker/v1/executions/lease", {
      as: worker.token,
      body: { lease_request_id: randomUUID(), limit: 1, wait: "10s" },
    });
    assert.equal(answer.status, 200, answer.text);
    [execution] = answer.body.executions;
    return execution !== undefined;
  });
  worker.hold(execution);
  return execution;
}

test("of two servers that start at once with different tags, one does", async () => {
  const database = await createTestDatabase();
  const tags = ["eu1", "us1"];
  const started = await Promise.allSettled(tags.map((tag) => startOnce(database, tag)));
  const running = started.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const refused = started.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
  assert.deepEqual([running.length, refused.length], [1, 1]);
  assert.ok(refused[0] instanceof ConfigError, String(refused[0]));
  const db = createDatabase({ url: database.url, poolSize: 2, statementNames: false });
  const [stored] = await db.query<{ cell: string }>(sql`SELECT cell FROM installation`);
  assert.equal(stored?.cell, cellOf(running[0]?.credentials.api_key ?? ""));
  await assert.rejects(db.query(sql`UPDATE installation SET cell = 'EU_1'`), /check/);
  await Promise.all(running.map((server) => server.close()));
  await db.close();
  await database.drop();
});

test("credentials that are made before the first start carry the tag that is asked for", () => {
  for (const cell of [null, "eu1"])
    for (const text of Object.values(makeCredentials(cell))) assert.equal(cellOf(text), cell);
});
