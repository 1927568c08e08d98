// What later starts find in the place of the first one: the same environment, and no credentials but those that are missing.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { sql } from "../../src/db/sql.ts";
import { startApiServer, type ApiServer } from "../support/api-server.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

let database: TestDatabase;
let server: ApiServer;
before(async () => {
  database = await createTestDatabase();
  server = await startApiServer({ database });
});
after(() => server.stop());

const readFirst = async (): Promise<ApiServer["credentials"]> =>
  JSON.parse(await readFile(join(server.dataDir, "credentials.json"), "utf8")) as ApiServer["credentials"];

/** Another organization with a project, as its owner makes them. */
async function makeTenant(): Promise<void> {
  const answer = await server.call("POST", "/admin/api/v1/organizations", {
    as: server.credentials.admin_key,
    body: { name: "Research", owner_email: "ada@example.com" },
  });
  assert.equal(answer.status, 201, answer.text);
  const organizationId = decodeId("org", answer.body.id);
  await server.db.query(sql`
    WITH project AS (
      INSERT INTO projects (id, organization_id, name, slug)
      VALUES (gen_random_uuid(), ${organizationId}, 'Theirs', 'theirs') RETURNING id
    )
    INSERT INTO environments (id, project_id, name, slug, worker_group_id)
    SELECT gen_random_uuid(), project.id, 'Development', 'development', v.worker_group_id
    FROM project, environments v WHERE v.id = ${decodeId("env", server.credentials.environment_id)}`);
}

test("an environment that has another slug is still the first one, for this data folder and for others", async () => {
  await makeTenant();
  const { project_id: project, environment_id: environment, user_token: as } = server.credentials;
  const path = `/api/projects/${project}/environments/${environment}`;
  const renamed = await server.call("PATCH", path, { as, body: { slug: "dev" } });
  assert.equal(renamed.status, 200, renamed.text);
  const again = await server.startReplica();
  await again.stop();
  assert.equal((await readFirst()).api_key, server.credentials.api_key);
  const other = await startApiServer({ database: { ...database, drop: async () => undefined } });
  try {
    assert.notEqual(other.credentials.api_key, server.credentials.api_key);
    const key = await other.call("GET", "/api/me");
    assert.deepEqual([key.body.api_key.project_id, key.body.api_key.environment_id], [project, environment]);
    const person = await other.call("GET", "/api/me", { as: other.credentials.user_token });
    assert.equal(person.body.user.email, "owner@localhost");
  } finally {
    await other.stop();
  }
});

test("in the place of a revoked enrollment token comes another one, and nothing else that was revoked comes back", async () => {
  const first = server.credentials;
  const tokens = await server.call("GET", "/admin/api/v1/enrollment-tokens", { as: first.admin_key });
  for (const { id } of tokens.body.enrollment_tokens) {
    const revoked = await server.call("DELETE", `/admin/api/v1/enrollment-tokens/${id}`, {
      as: first.admin_key,
    });
    assert.ok(revoked.status < 300, revoked.text);
  }
  assert.ok((await server.call("POST", "/api/auth/logout", { as: first.user_token })).status < 300);
  const later = await server.startReplica();
  try {
    const { url: _url, enrollment_token: token, ...others } = await readFirst();
    const { url: _first, enrollment_token: before, ...unchanged } = first;
    assert.deepEqual(others, unchanged);
    const enroll = (enrollmentToken: string) =>
      later.call("POST", "/api/worker/auth/token", {
        as: null,
        body: { enrollment_token: enrollmentToken, name: "late", worker_protocol_version: 1 },
      });
    assert.deepEqual([(await enroll(before)).status, (await enroll(token)).status], [401, 200]);
    assert.equal((await later.call("GET", "/api/me", { as: first.user_token })).status, 401);
  } finally {
    await later.stop();
  }
});
