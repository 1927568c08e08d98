import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { dropGoneWorkers } from "../../../src/core/workers/tidy-workers.ts";
import { sql } from "../../../src/db/sql.ts";
import { digestOf, startApiServer, type ApiServer } from "../../support/api-server.ts";
import { BUNDLE, startWorker, uploadBundle } from "../../support/deploy.ts";
import { enrollWorker } from "../../support/raw-worker.ts";

describe("workers", () => {
  let server: ApiServer;
  before(async () => {
    server = await startApiServer();
  });
  after(() => server.stop());

  const mint = (body: object, mount = "/worker/v1") =>
    server.call("POST", `${mount}/auth/token`, { as: null, body });

  for (const mount of ["/worker/v1", "/api/worker"]) {
    test(`a worker enrolls, registers, activates, beats, drains and begins anew under ${mount}`, async () => {
      const minted = await mint(
        { enrollment_token: server.credentials.enrollment_token, name: "w", worker_protocol_version: 1 },
        mount,
      );
      assert.equal(minted.status, 200, JSON.stringify(minted.body));
      assert.match(minted.body.token, /^kl_wkr_[0-9A-Za-z]{38}$/);
      assert.equal(minted.body.worker.status, "registered");
      const as = minted.body.token as string;
      const capacity = { executions: 3, workspaces: 1 };
      const steps = [
        [
          "POST",
          "/register",
          { name: "w2", capacity, labels: { zone: "a" }, version: "9", worker_protocol_version: 1 },
          "registered",
        ],
        ["POST", "/activate", undefined, "active"],
        ["POST", "/activate", undefined, "active"],
        ["POST", "/heartbeat", { in_use: { executions: 2, workspaces: 0 } }, "active"],
        ["POST", "/drain", undefined, "drained"],
        ["GET", "/status", undefined, "drained"],
      ] as const;
      let last;
      for (const [method, path, body, status] of steps) {
        last = await server.call(method, mount + path, { as, ...(body === undefined ? {} : { body }) });
        assert.deepEqual(
          [last.status, last.body.status],
          [200, status],
          `${path} ${JSON.stringify(last.body)}`,
        );
      }
      assert.deepEqual(
        [last?.body.name, last?.body.capacity, last?.body.in_use, last?.body.labels, last?.body.version],
        ["w2", capacity, { executions: 2, workspaces: 0 }, { zone: "a" }, "9"],
      );
      assert.match(last?.body.worker_group_id, /^wgrp_/);
      const refused = await server.call("POST", `${mount}/activate`, { as });
      assert.deepEqual([refused.status, refused.body.error.code], [409, "invalid_state"]);
      const again = await server.call("POST", `${mount}/register`, {
        as,
        body: { capacity, worker_protocol_version: 1 },
      });
      assert.deepEqual(
        [again.body.status, again.body.name, again.body.in_use],
        ["registered", "w2", { executions: 0, workspaces: 0 }],
      );
    });
  }

  test("the isolation that held on a worker's machine is shown, and why it is not more", async () => {
    const worker = await enrollWorker(server);
    const shown = async (): Promise<unknown[]> => {
      const own = (await worker.call("GET", "/status")).body;
      const { body } = await server.call("GET", `/admin/api/v1/workers/${worker.id}`, {
        as: server.credentials.admin_key,
      });
      assert.deepEqual([own.isolation, own.isolation_problem], [body.isolation, body.isolation_problem]);
      return [body.isolation, body.isolation_problem];
    };
    const register = async (said: object): Promise<number> => {
      const capacity = { executions: 1, workspaces: 1 };
      const body = { capacity, worker_protocol_version: 1, ...said };
      return (await worker.call("POST", "/register", body)).status;
    };
    assert.deepEqual(await shown(), [null, null]);
    const why = "bubblewrap is not installed.";
    assert.equal(await register({ isolation: "process", isolation_problem: why }), 200);
    assert.deepEqual(await shown(), ["process", why]);
    // It says more when it asks for workspaces.
    await worker.call("POST", "/activate");
    const asked = { limit: 0, wait: "0s", isolation: "namespace", held: [] };
    assert.equal((await worker.call("POST", "/workspaces/lease", asked)).status, 200);
    assert.deepEqual(await shown(), ["namespace", null]);
    assert.equal(await register({ isolation: "namespace", isolation_problem: why }), 200);
    assert.deepEqual(await shown(), ["namespace", null]);
    assert.equal(await register({}), 200);
    assert.deepEqual(await shown(), [null, null]);
    assert.equal(await register({ isolation: "process", isolation_problem: "x".repeat(2_000) }), 200);
    assert.equal(await register({ isolation: "process", isolation_problem: "x".repeat(2_001) }), 400);
    assert.equal(await register({ isolation: "virtual" }), 400);
  });

  test("a token is renewed by the worker's id and present token, and both work", async () => {
    const first = await mint({
      enrollment_token: server.credentials.enrollment_token,
      worker_protocol_version: 1,
    });
    const second = await mint({
      worker_id: first.body.worker.id,
      token: first.body.token,
      worker_protocol_version: 1,
    });
    assert.equal(second.status, 200, JSON.stringify(second.body));
    assert.equal(second.body.worker.id, first.body.worker.id);
    assert.notEqual(second.body.token, first.body.token);
    for (const as of [first.body.token, second.body.token])
      assert.equal((await server.call("GET", "/worker/v1/status", { as })).status, 200);
    const stored = await server.db.query<{ found: boolean }>(sql`
      SELECT exists (SELECT 1 FROM worker_tokens t WHERE t::text LIKE ${`%${second.body.token}%`}) AS found`);
    assert.deepEqual(stored, [{ found: false }]);
  });

  test("a token that has expired says with an enrollment token of the group who the worker is, for 30 days", async () => {
    const enrollment = { enrollment_token: server.credentials.enrollment_token };
    const version = { worker_protocol_version: 1 };
    const { token, expires_in: expiresIn, worker } = (await mint({ ...enrollment, ...version })).body;
    assert.equal(expiresIn, "1h");
    const known = { worker_id: worker.id, token, ...version };
    const expire = (age: string): Promise<unknown> =>
      server.db.query(sql`UPDATE worker_tokens SET expires_at = now() - ${age}::interval`);
    await expire("29 days");
    assert.equal((await server.call("GET", "/worker/v1/status", { as: token })).status, 401);
    assert.equal((await mint(known)).status, 401, "alone it is good for nothing");
    const again = await mint({ ...known, ...enrollment });
    assert.deepEqual([again.status, again.body.worker.id], [200, worker.id]);
    assert.equal((await server.call("GET", "/worker/v1/status", { as: again.body.token })).status, 200);
    // The answer may have been lost.
    assert.equal((await mint({ ...known, ...enrollment })).status, 200);
    // Once the worker has shown a later one, the earlier are forgotten.
    assert.equal((await mint({ ...known, token: again.body.token })).status, 200);
    assert.equal((await mint({ ...known, ...enrollment })).status, 401);
    await expire("31 days");
    await dropGoneWorkers(server.db, Date.now());
    assert.equal((await mint({ ...known, token: again.body.token, ...enrollment })).status, 401);
  });

  test("unknown, foreign and expired credentials mint nothing", async () => {
    const one = await mint({
      enrollment_token: server.credentials.enrollment_token,
      worker_protocol_version: 1,
    });
    const two = await mint({
      enrollment_token: server.credentials.enrollment_token,
      worker_protocol_version: 1,
    });
    const foreign = await mint({
      worker_id: one.body.worker.id,
      token: two.body.token,
      worker_protocol_version: 1,
    });
    assert.deepEqual([foreign.status, foreign.body.error.code], [401, "unauthenticated"]);
    const unknown = await mint({ enrollment_token: "kl_enr_x", worker_protocol_version: 1 });
    assert.equal(unknown.status, 401);
    await server.db.query(sql`UPDATE worker_tokens SET expires_at = now() - interval '1 second'`);
    const expired = await mint({
      worker_id: one.body.worker.id,
      token: one.body.token,
      worker_protocol_version: 1,
    });
    assert.equal(expired.status, 401);
    for (const all of [
      { enrollment_token: "x", worker_id: one.body.worker.id, token: one.body.token },
      { enrollment_token: server.credentials.enrollment_token, worker_id: one.body.worker.id, token: "y" },
      {
        enrollment_token: server.credentials.enrollment_token,
        worker_id: one.body.worker.id,
        token: two.body.token,
      },
    ])
      assert.equal((await mint({ ...all, worker_protocol_version: 1 })).status, 401);
    const half = await mint({ worker_id: one.body.worker.id, worker_protocol_version: 1 });
    assert.deepEqual([half.status, half.body.error.code], [400, "invalid_request"]);
    const protocol = await mint({
      enrollment_token: server.credentials.enrollment_token,
      worker_protocol_version: 2,
    });
    assert.deepEqual([protocol.status, protocol.body.error.code], [400, "unsupported_worker_protocol"]);
  });

  test("a silent worker looks lost until it is heard again", async () => {
    const as = await startWorker(server, "silent");
    await server.db.query(
      sql`UPDATE workers SET last_seen_at = now() - interval '16 seconds' WHERE name = 'silent'`,
    );
    assert.equal((await server.call("GET", "/worker/v1/status", { as })).body.status, "lost");
    assert.equal((await server.call("POST", "/worker/v1/heartbeat", { as, body: {} })).body.status, "active");
  });

  test("a bundle is given to workers of a group that serves an environment which has it", async () => {
    const as = await startWorker(server, "reader");
    await uploadBundle(server);
    const answer = await server.call("GET", `/worker/v1/bundles/${digestOf(BUNDLE)}`, { as });
    assert.equal(answer.status, 200);
    assert.deepEqual(new Uint8Array(answer.body), BUNDLE);
    assert.equal(answer.headers.get("content-length"), String(BUNDLE.length));
    for (const digest of ["0".repeat(64), "nonsense"]) {
      assert.equal((await server.call("GET", `/worker/v1/bundles/${digest}`, { as })).status, 404);
    }
    assert.equal((await server.call("GET", `/worker/v1/bundles/${digestOf(BUNDLE)}`)).status, 401);
  });
});
