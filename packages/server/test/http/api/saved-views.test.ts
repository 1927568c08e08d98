// Views of runs that a person saves: their own, by name, a bounded number of them.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { LIMITS } from "@keelson/contract";
import { sql } from "../../../src/db/sql.ts";
import { startApiServer, type Answer, type ApiServer } from "../../support/api-server.ts";
import { addPerson } from "../../support/tenancy.ts";

let server: ApiServer;
let path: string;
let ada: string;
let bob: string;
before(async () => {
  server = await startApiServer();
  const { project_id, environment_id } = server.credentials;
  path = `/api/projects/${project_id}/environments/${environment_id}/saved-views`;
  ada = (await addPerson(server, "developer")).token;
  bob = (await addPerson(server, "viewer")).token;
});
after(() => server.stop());

const ask = (as: string, method: string, tail = "", body?: object): Promise<Answer> =>
  server.call(method, `${path}${tail}`, { as, ...(body !== undefined && { body }) });

describe("saved views", () => {
  test("are made, listed, changed and deleted by their person", async () => {
    const made = await ask(ada, "POST", "", {
      name: "Failures",
      filter: { search: "error:timeout", status: ["failed"], last: "7d" },
      columns: ["error", "took"],
    });
    assert.equal(made.status, 201, made.text);
    const { id } = made.body;
    assert.match(id, /^view_/);
    const changed = await ask(ada, "PATCH", `/${id}`, { name: "Timeouts", columns: null });
    assert.deepEqual(
      [changed.status, changed.body.name, changed.body.columns, changed.body.filter.last],
      [200, "Timeouts", null, "7d"],
    );
    const { body } = await ask(ada, "GET");
    assert.deepEqual(body.saved_views, [changed.body]);
    assert.equal((await ask(ada, "DELETE", `/${id}`)).status, 204);
    assert.equal((await ask(ada, "DELETE", `/${id}`)).status, 404);
  });

  test("are not there for another person of the same environment", async () => {
    const { body } = await ask(ada, "POST", "", { name: "Mine", filter: {} });
    assert.deepEqual((await ask(bob, "GET")).body.saved_views, []);
    assert.equal((await ask(bob, "PATCH", `/${body.id}`, { name: "Stolen" })).status, 404);
    assert.equal((await ask(bob, "DELETE", `/${body.id}`)).status, 404);
    assert.equal((await ask(bob, "POST", "", { name: "Mine", filter: {} })).status, 201);
    assert.equal((await ask(ada, "GET")).body.saved_views[0].name, "Mine");
  });

  test("have names that a person uses once, and filters that a list takes", async () => {
    assert.equal(
      (await ask(ada, "POST", "", { name: "Mine", filter: {} })).body.error.code,
      "already_exists",
    );
    const bad = await ask(ada, "POST", "", { name: "Bad", filter: { search: "nothing:x" } });
    assert.deepEqual([bad.status, bad.body.error.code], [400, "invalid_request"]);
    assert.equal((await ask(ada, "POST", "", { name: "Bad", filter: { limit: 5 } })).status, 400);
  });

  test("are a bounded number", async () => {
    await server.db.query(sql`
      INSERT INTO saved_views (environment_id, user_id, id, name, filter, created_at, updated_at)
      SELECT environment_id, user_id, gen_random_uuid(), n::text, '{}', now(), now()
      FROM saved_views, generate_series(2, ${LIMITS.savedViews}) n WHERE name = 'Mine' LIMIT ${2 * LIMITS.savedViews - 2}`);
    const refused = await ask(ada, "POST", "", { name: "One more", filter: {} });
    assert.deepEqual([refused.status, refused.body.error.code], [409, "invalid_state"]);
    assert.equal((await ask(ada, "GET", "?limit=200")).body.saved_views.length, LIMITS.savedViews);
  });
});
