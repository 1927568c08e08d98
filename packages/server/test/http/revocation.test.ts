// What is revoked is refused: at once on the server that answered, soon on the other. The clock stands still, so no
// look-up of a credential becomes too old to be trusted while a test waits.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { decodeId, type Uuid } from "@keelson/contract";
import { sql } from "../../src/db/sql.ts";
import { startApiServer, type ApiServer, type CallOptions } from "../support/api-server.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { createReadyDeployment, promote, startWorker } from "../support/deploy.ts";
import { enrollWorker } from "../support/raw-worker.ts";
import { addApiKey, addPerson, place } from "../support/tenancy.ts";
import { patience, until } from "../support/until.ts";
import { errorIn, follow } from "./support/open-stream.ts";

/** How soon the other server must refuse. */
const MAX_MS = 100;
const ROUNDS = 10;

let database: TestDatabase;
let one: ApiServer;
let other: ApiServer;
before(async () => {
  database = await createTestDatabase();
  const shared = { ...database, drop: () => Promise.resolve() };
  const now = Date.now();
  one = await startApiServer({ database: shared, clock: () => now });
  other = await startApiServer({ database: shared, clock: () => now });
});
after(async () => {
  await one?.stop();
  await other?.stop();
  await database?.drop();
});

const statusAt = async (server: ApiServer, as: string, path: string): Promise<number> =>
  (await server.call("GET", path, { as })).status;

/** Does it at one server and gives how long after the answer the other still took the credential. */
async function revoke(as: string, path: string, request: () => Promise<number>): Promise<number> {
  for (const server of [one, other]) assert.equal(await statusAt(server, as, path), 200);
  assert.ok((await request()) < 300);
  const revokedAt = performance.now();
  assert.equal(await statusAt(one, as, path), 401, "the server that answered still takes it");
  // At once, and not with pauses: how soon it is refused is what this is about.
  const patientUntil = revokedAt + patience();
  while ((await statusAt(other, as, path)) !== 401)
    if (performance.now() > patientUntil) assert.fail("the other server does not refuse it");
  return performance.now() - revokedAt;
}

async function inRounds(what: string, round: () => Promise<number>): Promise<void> {
  const times: number[] = [];
  for (let n = 0; n < ROUNDS; n += 1) times.push(await round());
  const sorted = times.toSorted((a, b) => a - b);
  const median = sorted[ROUNDS / 2] as number;
  console.log(
    `${what}: refused elsewhere after ${median.toFixed(1)} ms, at most ${sorted.at(-1)?.toFixed(1)} ms`,
  );
  assert.ok(median < MAX_MS, `the median is ${median} ms`);
}

const at = async (path: string, options: CallOptions & { method: string }): Promise<number> =>
  (await one.call(options.method, path, options)).status;

describe("from the next request on, and elsewhere within 100 ms", () => {
  test("a revoked API key is refused", async () => {
    const { project_id, environment_id, user_token } = one.credentials;
    const keys = `/api/projects/${project_id}/environments/${environment_id}/api-keys`;
    await inRounds("a revoked API key", async () => {
      const made = await one.call("POST", keys, { as: user_token, body: { name: "short" } });
      const path = `${keys}/${made.body.id}`;
      return revoke(made.body.api_key, "/v1/runs", () => at(path, { method: "DELETE", as: user_token }));
    });
  });

  test("a session that was signed out is refused", async () => {
    await inRounds("a session", async () => {
      const { token } = await addPerson(one, "viewer");
      return revoke(token, "/api/me", () => at("/api/auth/logout", { method: "POST", as: token }));
    });
  });

  test("a suspended user is refused, and taken again afterwards", async () => {
    const { admin_key } = one.credentials;
    await inRounds("a suspended user", async () => {
      const { token, user_id } = await addPerson(one, "viewer");
      const set = (suspended: boolean): Promise<number> =>
        at(`/admin/api/v1/users/${user_id}`, { method: "PATCH", as: admin_key, body: { suspended } });
      const took = await revoke(token, "/api/me", () => set(true));
      assert.equal(await set(false), 200);
      assert.equal(await statusAt(one, token, "/api/me"), 200);
      return took;
    });
  });

  test("one who is an administrator no more is refused as one", async () => {
    const { admin_key } = one.credentials;
    await inRounds("a former administrator", async () => {
      const { token, user_id } = await addPerson(one, null, { isAdmin: true });
      const path = `/admin/api/v1/users/${user_id}`;
      return revoke(token, "/admin/api/v1/users", () =>
        at(path, { method: "PATCH", as: admin_key, body: { is_admin: false } }),
      );
    });
  });

  test("a removed member finds nothing on any server", async () => {
    const { user_token } = one.credentials;
    const { project_id, environment_id } = place(one);
    const { token, user_id } = await addPerson(one, "developer");
    const path = `/api/runs?project_id=${project_id}&environment_id=${environment_id}`;
    for (const server of [one, other]) assert.equal(await statusAt(server, token, path), 200);
    assert.equal(await at(`/api/members/${user_id}`, { method: "DELETE", as: user_token }), 204);
    for (const server of [other, one]) assert.equal(await statusAt(server, token, path), 404);
  });

  test("the public token of a closed session sends nothing more at any server", async () => {
    const worker = await startWorker(one);
    await promote(
      one,
      (await createReadyDeployment(one, worker, { tasks: [], actors: [{ id: "chat" }] })).id,
    );
    const { body: session } = await one.call("POST", "/v1/sessions", { body: { actor: "chat", input: 1 } });
    const scope = { type: "session.input.send", session: { type: "id", id: session.id }, stream: "input" };
    const minted = await one.call("POST", "/api/public-access-tokens", { body: { scope } });
    const send = (server: ApiServer) =>
      server.call("POST", `/api/v1/sessions/${session.id}/inputs/input`, {
        as: minted.body.public_access_token,
        body: { data: 1 },
      });
    for (const server of [one, other]) {
      const sent = await send(server);
      assert.equal(sent.status, 201, sent.text);
    }
    assert.equal((await one.call("POST", `/v1/sessions/${session.id}/close`)).status, 200);
    for (const server of [other, one]) {
      const refused = await send(server);
      assert.deepEqual([refused.status, refused.body.error.code], [409, "session_closed"]);
    }
  });
});

type Opened = { streams: { as: string; path: string }[]; revoke(): Promise<number>; code: string };

/** Streams of both servers end with that error, in time after the answer; those of others go on. */
async function endStreams(what: string, open: () => Promise<Opened>): Promise<void> {
  const kept = await follow(other, one.credentials.api_key, await streamPath());
  const late: number[] = [];
  for (let n = 0; n < ROUNDS; n += 1) {
    const { streams, revoke: revokeIt, code } = await open();
    const opened = await Promise.all(
      [one, other].flatMap((server) => streams.map(({ as, path }) => follow(server, as, path))),
    );
    const status = await revokeIt();
    assert.ok(status < 300, `${status}`);
    const revokedAt = performance.now();
    for (const { at: endedAt, text } of await Promise.all(opened.map(({ ended }) => ended))) {
      assert.equal(errorIn(text)?.code, code, text);
      late.push(endedAt - revokedAt);
    }
  }
  assert.ok(kept.isOpen(), "a stream of another credential was ended");
  kept.close();
  const sorted = late.toSorted((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] as number;
  console.log(
    `${what}: ${late.length} streams ended, median ${median.toFixed(1)} ms, at most ${sorted.at(-1)?.toFixed(1)} ms`,
  );
  assert.ok(median < MAX_MS, `the median is ${median} ms`);
}

let session: string;
/** Of an open session that writes nothing. */
async function streamPath(query = ""): Promise<string> {
  if (session === undefined) {
    const worker = await startWorker(one);
    const actors = [{ id: "quiet" }];
    await promote(one, (await createReadyDeployment(one, worker, { tasks: [{ id: "holds" }], actors })).id);
    const made = await one.call("POST", "/v1/sessions", { body: { actor: "quiet", input: 1 } });
    session = made.body.id;
  }
  return `/api/sessions/${session}/outputs/main/read?follow=1${query}`;
}

describe("an open event stream ends within 100 ms on every server", { timeout: 60_000 }, () => {
  test("when its API key is revoked", async () => {
    const { project_id, environment_id, user_token } = one.credentials;
    const keys = `/api/projects/${project_id}/environments/${environment_id}/api-keys`;
    await endStreams("a revoked API key", async () => {
      const made = await one.call("POST", keys, { as: user_token, body: { name: "short" } });
      const as = made.body.api_key as string;
      const path = await streamPath();
      return {
        streams: [
          { as, path },
          { as, path },
        ],
        revoke: () => at(`${keys}/${made.body.id}`, { method: "DELETE", as: user_token }),
        code: "unauthenticated",
      };
    });
  });

  const here = (): string => `&${new URLSearchParams(place(one))}`;

  test("when its session is signed out", async () => {
    await endStreams("a session", async () => {
      const { token: as } = await addPerson(one, "viewer");
      return {
        streams: [{ as, path: await streamPath(here()) }],
        revoke: () => at("/api/auth/logout", { method: "POST", as }),
        code: "unauthenticated",
      };
    });
  });

  test("when its user is suspended", async () => {
    await endStreams("a suspended user", async () => {
      const { token: as, user_id } = await addPerson(one, "viewer");
      const options = { method: "PATCH", as: one.credentials.admin_key, body: { suspended: true } };
      return {
        streams: [{ as, path: await streamPath(here()) }],
        revoke: () => at(`/admin/api/v1/users/${user_id}`, options),
        code: "unauthenticated",
      };
    });
  });

  test("when its user is no member any more, who finds nothing from then on", async () => {
    await endStreams("a removed member", async () => {
      const { token: as, user_id } = await addPerson(one, "viewer");
      const options = { method: "DELETE", as: one.credentials.user_token };
      return {
        streams: [{ as, path: await streamPath(here()) }],
        revoke: () => at(`/api/members/${user_id}`, options),
        code: "not_found",
      };
    });
  });

  test("when the lease of its run is over, and not while it is held", async () => {
    const path = await streamPath();
    const worker = await enrollWorker(one);
    await endStreams("a run's lease", async () => {
      const started = await one.call("POST", "/v1/tasks/holds/start", { body: {} });
      let lease = await worker.takeOne();
      // The session's own first run.
      while (lease.runId !== started.body.id) lease = await worker.takeOne();
      await worker.report(lease.operation("start"));
      return {
        streams: [{ as: lease.execution.run_token, path }],
        revoke: async () => {
          const logs = { chunks: [{ stream: "stdout", at: "2026-11-20T09:15:00.123Z", data: "d29ya3M=" }] };
          await worker.report(lease.operation("logs", logs));
          await worker.report(
            lease.operation("release", { outcome: "succeeded", output: null, failure: null }),
          );
          return 200;
        },
        code: "unauthenticated",
      };
    });
  });

  test("and stays when only something else of its user has changed", async () => {
    const { token, user_id } = await addPerson(one, "viewer");
    const path = await streamPath(here());
    const opened = await Promise.all([one, other].map((server) => follow(server, token, path)));
    const { admin_key, user_token } = one.credentials;
    assert.equal(
      await at(`/admin/api/v1/users/${user_id}`, {
        method: "PATCH",
        as: admin_key,
        body: { is_admin: true },
      }),
      200,
    );
    assert.equal(
      await at(`/api/members/${user_id}`, { method: "PATCH", as: user_token, body: { role: "developer" } }),
      200,
    );
    // What is told later is heard later: by then the others were looked at.
    const last = await addPerson(one, "viewer");
    const witness = await follow(other, last.token, path);
    assert.equal(await at("/api/auth/logout", { method: "POST", as: last.token }), 204);
    await witness.ended;
    for (const stream of opened) {
      assert.ok(stream.isOpen());
      stream.close();
    }
  });

  test("and so does a long poll, with the refusal as its answer", async () => {
    const { project_id, environment_id, user_token } = one.credentials;
    const keys = `/api/projects/${project_id}/environments/${environment_id}/api-keys`;
    const made = await one.call("POST", keys, { as: user_token, body: { name: "short" } });
    const path = (await streamPath()).replace("follow=1", "wait=60s");
    const polls = [one, other].map((server) => server.call("GET", path, { as: made.body.api_key }));
    const stream = await follow(other, made.body.api_key, await streamPath());
    assert.equal(await at(`${keys}/${made.body.id}`, { method: "DELETE", as: user_token }), 204);
    await stream.ended;
    for (const answer of await Promise.all(polls))
      assert.deepEqual([answer.status, answer.body.error?.code], [401, "unauthenticated"]);
  });
});

describe("a server that did not hear of a revocation", () => {
  /** No notification tells of it: only that the connections were lost does. */
  const revokeUnheard = async (): Promise<void> => {
    const environmentId = decodeId("env", one.credentials.environment_id) as Uuid<"env">;
    await one.db.query(
      sql`UPDATE api_keys SET revoked_at = now() WHERE environment_id = ${environmentId} AND name = 'test'`,
    );
    await one.db.query(sql`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE application_name = 'keelson listen' AND datname = current_database()`);
  };

  test("trusts nothing from before once it hears again", async () => {
    const key = await addApiKey(one, ["runs.read"]);
    for (const server of [one, other]) assert.equal(await statusAt(server, key, "/v1/runs"), 200);
    await revokeUnheard();
    for (const server of [one, other])
      await until(
        "what was missed is looked up",
        10_000,
        async () => (await statusAt(server, key, "/v1/runs")) === 401,
      );
  });

  test("ends streams that are open under what was revoked, once it hears again", async () => {
    const key = await addApiKey(one, ["sessions.read"]);
    const path = await streamPath();
    const kept = await follow(one, one.credentials.api_key, path);
    const streams = await Promise.all(
      [one, other].flatMap((server) => Array.from({ length: 20 }, () => follow(server, key, path))),
    );
    await revokeUnheard();
    for (const { text } of await Promise.all(streams.map(({ ended }) => ended)))
      assert.equal(errorIn(text)?.code, "unauthenticated");
    assert.ok(kept.isOpen());
    kept.close();
  });
});
