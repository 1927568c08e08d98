import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { encodeId, type AuditEvent } from "@keelson/contract";
import { startApiServer, type ApiServer } from "../../support/api-server.ts";
import { asAdmin, exportedEvents } from "../../support/audit.ts";
import { addForeignPlace, addPerson, addUser, firstOrganization } from "../../support/tenancy.ts";

let server: ApiServer;
let owner: string;
let organization: string;
let elsewhere: string;

before(async () => {
  server = await startApiServer();
  owner = server.credentials.user_token;
  organization = encodeId("org", await firstOrganization(server));
  const there = await addForeignPlace(server);
  elsewhere = there.organization_id;
  for (const name of ["First", "Second", "Third"]) {
    const made = await server.call("POST", "/api/projects", { as: owner, body: { name } });
    assert.equal(made.status, 201, made.text);
  }
  const foreignOwner = await addUser(server, "owner", { organizationId: there.organizationId });
  const made = await server.call("POST", "/api/projects", { as: foreignOwner, body: { name: "Theirs" } });
  assert.equal(made.status, 201, made.text);
});
after(() => server.stop());

const get = (path: string, as = owner) => server.call("GET", `/api/audit-events${path}`, { as });

describe("an organization's audit events", () => {
  test("are all of its chain and no other's, as administrators see them", async () => {
    const { status, body } = await get("");
    assert.equal(status, 200);
    const exported = await exportedEvents(server, organization);
    assert.deepEqual(body, { audit_events: exported.toReversed(), next_cursor: null });
    assert.ok(body.audit_events.every((event: AuditEvent) => event.organization_id === organization));
    const newest = exported.at(-1) as AuditEvent;
    assert.deepEqual((await get(`/${newest.id}`)).body, newest);
  });

  test("of another organization, or of the installation, are not found", async () => {
    const theirs = await exportedEvents(server, elsewhere);
    await asAdmin(server)("POST", "worker-groups", { name: "Spare" });
    const own = await exportedEvents(server, null);
    assert.ok(theirs.length > 0 && own.length > 0);
    for (const { id } of [...theirs, ...own]) assert.equal((await get(`/${id}`)).status, 404);
    assert.equal((await get(`?organization_id=${elsewhere}`)).status, 404);
  });

  test("are filtered by action, actor and resource, and come in pages", async () => {
    const all: AuditEvent[] = (await get("")).body.audit_events;
    const created = all.filter(({ action }) => action === "projects.create");
    assert.equal(created.length, 3);
    const [one] = created as [AuditEvent];
    assert.deepEqual((await get("?action=projects.create")).body.audit_events, created);
    assert.deepEqual((await get(`?resource_id=${one.resource.id}`)).body.audit_events, [one]);
    assert.deepEqual(
      (await get(`?actor_id=${one.actor.id}&action=projects.create&resource_id=${one.resource.id}`)).body
        .audit_events,
      [one],
    );
    assert.deepEqual((await get("?action=absent")).body, { audit_events: [], next_cursor: null });
    const first = (await get("?action=projects.create&limit=2")).body;
    const second = (await get(`?action=projects.create&limit=2&cursor=${first.next_cursor}`)).body;
    assert.deepEqual([...first.audit_events, ...second.audit_events], created);
    assert.equal(second.next_cursor, null);
  });

  test("are read by owners and admins alone, who are told so", async () => {
    for (const role of ["admin", "developer", "viewer"]) {
      const { token } = await addPerson(server, role);
      const may = role === "admin";
      assert.equal((await get("", token)).status, may ? 200 : 403);
      const { body } = await server.call("GET", "/api/me", { as: token });
      assert.equal(body.organizations[0].permissions.includes("audit_events.read"), may);
    }
    assert.equal((await get("", server.credentials.api_key)).status, 401);
  });
});
