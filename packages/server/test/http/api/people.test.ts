import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { encodeId, ENVIRONMENT_PERMISSIONS, PERMISSIONS } from "@keelson/contract";
import { startApiServer, type Answer, type ApiServer } from "../../support/api-server.ts";
import { addForeignPlace, addPerson, addUser, firstOrganization } from "../../support/tenancy.ts";

let server: ApiServer;
let owner: string;

const as = (token: string) => (method: string, path: string, body?: unknown) =>
  server.call(method, path, { as: token, ...(body === undefined ? {} : { body }) });

const refusal = ({ status, body }: Answer): [number, string] => [status, body.error.code];

before(async () => {
  server = await startApiServer();
  owner = server.credentials.user_token;
});
after(() => server.stop());

describe("who calls", () => {
  test("a user sees themselves and their organizations", async () => {
    const { status, body } = await as(owner)("GET", "/api/me");
    assert.equal(status, 200);
    assert.deepEqual(
      [body.user.email, body.user.is_admin, body.api_key, body.csrf_token],
      ["owner@localhost", true, null, null],
    );
    assert.deepEqual(
      body.organizations.map((one: { slug: string; role: string }) => [one.slug, one.role]),
      [["default", "owner"]],
    );
    assert.deepEqual(body.organizations[0].permissions, [...PERMISSIONS]);
    const list = await as(owner)("GET", "/api/organizations");
    assert.deepEqual(list.body, { organizations: body.organizations, next_cursor: null });
  });

  test("a member is told what their role may do", async () => {
    for (const [role, may, mayNot] of [
      ["viewer", ["runs.read", "members.read"], ["tasks.start", "projects.write", "audit_events.read"]],
      ["developer", ["tasks.start", "secrets.write"], ["projects.write", "audit_events.read"]],
      ["admin", ["projects.write", "members.write", "audit_events.read"], []],
    ] as const) {
      const { body } = await as(await addUser(server, role))("GET", "/api/me");
      const { permissions } = body.organizations[0];
      for (const permission of may) assert.ok(permissions.includes(permission), `${role} ${permission}`);
      for (const permission of mayNot) assert.ok(!permissions.includes(permission), `${role} ${permission}`);
    }
  });

  test("an API key sees itself and where it is bound", async () => {
    const { body } = await server.call("GET", "/api/me");
    assert.deepEqual(
      [body.user, body.organizations, body.api_key.environment_id, body.api_key.name],
      [null, [], server.credentials.environment_id, "First start"],
    );
    assert.deepEqual(body.api_key.permissions, [...ENVIRONMENT_PERMISSIONS]);
  });
});

describe("projects and environments", () => {
  test("a project begins with two environments and can be renamed", async () => {
    const call = as(owner);
    const created = await call("POST", "/api/projects", { name: "Émile's Reports" });
    assert.equal(created.status, 201, created.text);
    assert.equal(created.body.slug, "emile-s-reports");
    const path = `/api/projects/${created.body.id}`;
    assert.deepEqual((await call("GET", path)).body, created.body);
    const { body } = await call("GET", `${path}/environments`);
    assert.deepEqual(
      body.environments.map((one: { slug: string }) => one.slug),
      ["production", "development"],
    );
    const renamed = await call("PATCH", path, { name: "Reports" });
    assert.deepEqual([renamed.body.name, renamed.body.slug], ["Reports", "emile-s-reports"]);
    const moved = await call("PATCH", path, { slug: "reports" });
    assert.deepEqual([moved.body.name, moved.body.slug], ["Reports", "reports"]);
    const staging = await call("POST", `${path}/environments`, { name: "Staging", slug: "stage" });
    assert.equal(staging.status, 201, staging.text);
    const item = `${path}/environments/${staging.body.id}`;
    assert.deepEqual((await call("GET", item)).body, staging.body);
    assert.equal((await call("PATCH", item, { name: "Stage" })).body.name, "Stage");
  });

  test("a slug names one thing of its parent", async () => {
    const call = as(owner);
    const project = await call("POST", "/api/projects", { name: "Taken" });
    assert.deepEqual(refusal(await call("POST", "/api/projects", { name: "taken!" })), [
      409,
      "already_exists",
    ]);
    const other = await call("POST", "/api/projects", { name: "Other" });
    const path = `/api/projects/${other.body.id}`;
    assert.deepEqual(refusal(await call("PATCH", path, { slug: "taken" })), [409, "already_exists"]);
    assert.equal((await call("PATCH", path, { slug: "other" })).status, 200);
    const environments = `/api/projects/${project.body.id}/environments`;
    assert.deepEqual(refusal(await call("POST", environments, { name: "Production" })), [
      409,
      "already_exists",
    ]);
    const refused = await call("POST", "/api/projects", { name: "会社" });
    assert.deepEqual(refused.body.error.details.issues[0].path, "slug");
    const racing = await Promise.all(
      Array.from({ length: 4 }, () => call("POST", "/api/projects", { name: "Racing" })),
    );
    assert.deepEqual(
      racing.map(({ status }) => status).sort((a, b) => a - b),
      [201, 409, 409, 409],
    );
  });

  test("pages follow each other without gap or repeat", async () => {
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? "" : `&cursor=${cursor}`;
      const { body }: Answer = await as(owner)("GET", `/api/projects?limit=2${query}`);
      seen.push(...body.projects.map((one: { slug: string }) => one.slug));
      cursor = body.next_cursor;
    } while (cursor !== null);
    const all = await as(owner)("GET", "/api/projects");
    assert.deepEqual(
      seen,
      all.body.projects.map((one: { slug: string }) => one.slug),
    );
    assert.ok(seen.length >= 4);
  });

  test("an environment is found under its own project only", async () => {
    const { body } = await as(owner)("POST", "/api/projects", { name: "Elsewhere" });
    const { environment_id } = server.credentials;
    for (const part of ["", "/api-keys"]) {
      const wrong = await as(owner)("GET", `/api/projects/${body.id}/environments/${environment_id}${part}`);
      assert.deepEqual(refusal(wrong), [404, "not_found"]);
    }
  });

  test("a member of several organizations says which", async () => {
    const there = await addForeignPlace(server);
    const { token, userId } = await addPerson(server, "viewer");
    await server.db.query({
      name: "",
      text: "INSERT INTO members (organization_id, user_id, role) VALUES ($1, $2, 'owner')",
      values: [there.organizationId, userId],
    });
    const refused = await as(token)("GET", "/api/members");
    assert.deepEqual(refusal(refused), [400, "invalid_request"]);
    const here = encodeId("org", await firstOrganization(server));
    const listed = await as(token)("GET", `/api/projects?organization_id=${there.organization_id}`);
    assert.deepEqual(
      listed.body.projects.map((one: { id: string }) => one.id),
      [there.project_id],
    );
    const create = (organization_id: string) =>
      as(token)("POST", "/api/projects", { name: "Mine", organization_id });
    assert.equal((await create(there.organization_id)).status, 201);
    assert.deepEqual(refusal(await create(here)), [403, "forbidden"]);
  });
});

describe("members", () => {
  test("the last owner is neither removed nor demoted", async () => {
    const me = (await as(owner)("GET", "/api/me")).body.user.id;
    for (const answer of [
      await as(owner)("PATCH", `/api/members/${me}`, { role: "admin" }),
      await as(owner)("DELETE", `/api/members/${me}`),
    ])
      assert.deepEqual(refusal(answer), [409, "invalid_state"]);
  });

  test("of owners who demote each other at once, one stays", async () => {
    for (let round = 0; round < 8; round += 1) {
      const there = await addForeignPlace(server);
      const { organizationId, organization_id } = there;
      const [one, two] = [
        await addPerson(server, "owner", { organizationId }),
        await addPerson(server, "owner", { organizationId }),
      ];
      const demote = (by: string, whom: string) =>
        round % 2 === 0
          ? as(by)("PATCH", `/api/members/${whom}`, { role: "viewer", organization_id })
          : as(by)("DELETE", `/api/members/${whom}?organization_id=${organization_id}`);
      const answers = await Promise.all([demote(one.token, two.user_id), demote(two.token, one.user_id)]);
      assert.equal(answers.filter(({ status }) => status < 300).length, 1);
      const rows = await server.db.query({
        name: "",
        text: "SELECT 1 FROM members WHERE organization_id = $1 AND role = 'owner'",
        values: [organizationId],
      });
      assert.equal(rows.length, 1);
    }
  });

  test("admins change everyone but owners", async () => {
    const [admin, second, viewer] = [
      await addPerson(server, "admin"),
      await addPerson(server, "owner"),
      await addPerson(server, "viewer"),
    ];
    const call = as(admin.token);
    const promoted = await call("PATCH", `/api/members/${viewer.user_id}`, { role: "developer" });
    assert.deepEqual([promoted.status, promoted.body.role], [200, "developer"]);
    for (const answer of [
      await call("PATCH", `/api/members/${viewer.user_id}`, { role: "owner" }),
      await call("PATCH", `/api/members/${second.user_id}`, { role: "admin" }),
      await call("DELETE", `/api/members/${second.user_id}`),
      await call("POST", "/api/invitations", { email: "new-owner@example.com", role: "owner" }),
    ])
      assert.deepEqual(refusal(answer), [403, "forbidden"]);
    assert.equal((await call("DELETE", `/api/members/${viewer.user_id}`)).status, 204);
    assert.equal((await call("DELETE", `/api/members/${viewer.user_id}`)).status, 404);
    assert.equal((await as(owner)("DELETE", `/api/members/${second.user_id}`)).status, 204);
  });

  test("who is no member any more may do nothing from the next request on", async () => {
    const { token, user_id } = await addPerson(server, "developer");
    assert.equal((await as(token)("GET", "/api/projects")).status, 200);
    assert.equal((await as(owner)("DELETE", `/api/members/${user_id}`)).status, 204);
    assert.equal((await as(token)("GET", "/api/projects")).status, 404);
    assert.equal((await as(token)("GET", "/api/me")).status, 200);
  });
});
