import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { purgeLogins } from "../../src/core/logins/purge-logins.ts";
import { sql } from "../../src/db/sql.ts";
import { startApiServer, type ApiServer } from "../support/api-server.ts";
import { addPerson } from "../support/tenancy.ts";

let server: ApiServer;
before(async () => {
  server = await startApiServer();
});
after(() => server.stop());

test("one round removes all that has expired, however much strangers asked for", async () => {
  const past = new Date(Date.now() - 1_000);
  await server.db.query(sql`
    INSERT INTO magic_links (digest, nonce_digest, email, created_at, expires_at)
    SELECT sha256(n::text::bytea), '', 'a@example.com', now(), ${past} FROM generate_series(1, 2500) AS n`);
  await server.db.query(sql`
    INSERT INTO device_authorizations (digest, user_code, interval_seconds, created_at, expires_at)
    SELECT sha256(n::text::bytea), n::text, 5, now(), ${past} FROM generate_series(1, 2500) AS n`);
  await purgeLogins(server.db, Date.now());
  const [left] = await server.db.query(sql`
    SELECT (SELECT count(*) FROM magic_links) AS links, (SELECT count(*) FROM device_authorizations) AS devices`);
  assert.deepEqual(Object.values(left ?? {}).map(Number), [0, 0]);
});

test("what nobody can sign in with any more is removed, and nothing else", async () => {
  const now = Date.now();
  const day = 86_400_000;
  const { userId } = await addPerson(server, "viewer", { expiresAt: new Date(now - 8 * day) });
  const { userId: other } = await addPerson(server, "viewer", { expiresAt: new Date(now - 6 * day) });
  for (const ms of [-1_000, 60_000]) {
    const at = new Date(now + ms);
    await server.db.query(sql`
      INSERT INTO magic_links (digest, nonce_digest, email, created_at, expires_at)
      VALUES (${randomBytes(32)}, ${randomBytes(32)}, 'a@example.com', now(), ${at})`);
    await server.db.query(sql`
      INSERT INTO device_authorizations (digest, user_code, interval_seconds, created_at, expires_at)
      VALUES (${randomBytes(32)}, ${randomUUID()}, 5, now(), ${at})`);
    await server.db.query(sql`
      INSERT INTO user_code_failures (user_id, failures, window_ends_at)
      VALUES (${ms < 0 ? userId : other}, 1, ${at})`);
  }
  await purgeLogins(server.db, now);
  const [left] = await server.db.query(sql`
    SELECT (SELECT count(*) FROM magic_links) AS links, (SELECT count(*) FROM device_authorizations) AS devices,
      (SELECT count(*) FROM user_code_failures) AS failures,
      (SELECT count(*) FROM user_sessions WHERE expires_at < now()) AS sessions`);
  assert.deepEqual(Object.values(left ?? {}).map(Number), [1, 1, 1, 1]);
});
