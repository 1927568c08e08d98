import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { purgeOauth } from "../../src/core/oauth/purge-oauth.ts";
import { sql } from "../../src/db/sql.ts";
import { startApiServer, type ApiServer } from "../support/api-server.ts";
import { connectClient, ping, refresh, register } from "../support/oauth.ts";

let server: ApiServer;
before(async () => {
  server = await startApiServer();
});
after(() => server.stop());

const DAY_MS = 86_400_000;

async function counts(): Promise<{ clients: number; grants: number; tokens: number }> {
  const [row] = await server.db.query<{ clients: number; grants: number; tokens: number }>(sql`
    SELECT (SELECT count(*) FROM oauth_clients) AS clients, (SELECT count(*) FROM oauth_grants) AS grants,
      (SELECT count(*) FROM oauth_tokens) AS tokens`);
  return { clients: Number(row?.clients), grants: Number(row?.grants), tokens: Number(row?.tokens) };
}

test("registrations that nobody approved are dropped after a day, however many there are", async () => {
  await server.db.query(sql`
    INSERT INTO oauth_clients (id, redirect_uris, created_at, kept_until)
    SELECT gen_random_uuid(), '{}', now(), now() - interval '1 second' FROM generate_series(1, 2500)`);
  await register(server);
  await purgeOauth(server.db, Date.now());
  assert.equal((await counts()).clients, 1);
  await purgeOauth(server.db, Date.now() + DAY_MS + 60_000);
  assert.equal((await counts()).clients, 0);
});

test("a client that is used stays, and what it can use no more goes", async () => {
  const connected = await connectClient(server);
  assert.equal((await refresh(server, connected.clientId, connected.refresh)).status, 200);
  assert.deepEqual(await counts(), { clients: 1, grants: 1, tokens: 4 });
  await purgeOauth(server.db, Date.now());
  assert.equal((await ping(server, connected.access)).status, 200);
  await purgeOauth(server.db, Date.now() + 2 * DAY_MS);
  // Used refresh tokens stay: who comes with one is told from who made one up.
  assert.deepEqual(await counts(), { clients: 1, grants: 1, tokens: 2 });
  await purgeOauth(server.db, Date.now() + 31 * DAY_MS);
  assert.deepEqual(await counts(), { clients: 1, grants: 0, tokens: 0 });
  await purgeOauth(server.db, Date.now() + 91 * DAY_MS);
  assert.equal((await counts()).clients, 0);
});
