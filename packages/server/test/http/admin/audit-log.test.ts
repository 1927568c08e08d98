import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { encodeId } from "@keelson/contract";
import { loadConfig } from "../../../src/config.ts";
import { sql } from "../../../src/db/sql.ts";
import { startApiServer, type ApiServer } from "../../support/api-server.ts";
import { asAdmin, exportedEvents, newestEvent } from "../../support/audit.ts";
import { createReadyDeployment, promote, startWorker } from "../../support/deploy.ts";
import { addPerson, firstOrganization, place } from "../../support/tenancy.ts";

let server: ApiServer;
let owner: string;
let organizationId: string;
let admin: ReturnType<typeof asAdmin>;

before(async () => {
  server = await startApiServer();
  owner = server.credentials.user_token;
  organizationId = encodeId("org", await firstOrganization(server));
  admin = asAdmin(server);
});
after(() => server.stop());

const asOwner = (method: string, path: string, body?: object, headers?: Record<string, string>) =>
  server.call(method, path, {
    as: owner,
    ...(body === undefined ? {} : { body }),
    ...(headers === undefined ? {} : { headers }),
  });

const countEvents = async (): Promise<number> => {
  const [row] = await server.db.query<{ count: number }>(sql`SELECT count(*) AS count FROM audit_events`);
  return row?.count ?? 0;
};

describe("an event", () => {
  test("says who did what to which resource, when, from where and by which credential", async () => {
    const { project_id, environment_id } = place(server);
    const path = `/api/projects/${project_id}/environments/${environment_id}/api-keys`;
    const created = await asOwner(
      "POST",
      path,
      { name: "CI", permissions: ["runs.read"] },
      { "x-request-id": "made" },
    );
    assert.equal(created.status, 201, created.text);
    const event = await newestEvent(server, organizationId);
    const me = await asOwner("GET", "/api/me");
    const [session] = await server.db.query<{ id: string }>(
      sql`SELECT id FROM user_sessions WHERE digest = ${hash("sha256", owner, "buffer")}`,
    );
    const { id, sequence, at, previous_digest, digest, ...said } = event;
    assert.deepEqual(said, {
      organization_id: organizationId,
      action: "api_keys.create",
      actor: { kind: "user", id: me.body.user.id },
      credential: { kind: "session", id: encodeId("usess", session?.id as string) },
      resource: { kind: "api_key", id: created.body.id },
      project_id,
      environment_id,
      address: "127.0.0.1",
      request_id: "made",
      details: { name: "CI", permissions: ["runs.read"] },
    });
    assert.match(id, /^aud_/);
    assert.match(at, /^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/);
    assert.match(`${previous_digest} ${digest}`, /^[0-9a-f]{64} [0-9a-f]{64}$/);
    assert.deepEqual((await admin("GET", `audit-events/${id}`)).body, event);
    assert.ok(sequence >= 1);
    assert.ok(!JSON.stringify(event).includes(created.body.api_key));
  });

  test("is not written for what changed nothing, was refused, or is a repeat", async () => {
    const { project_id, environment_id } = place(server);
    const path = `/api/projects/${project_id}/environments/${environment_id}/api-keys`;
    const { body } = await asOwner("POST", path, { name: "gone" });
    assert.equal((await asOwner("DELETE", `${path}/${body.id}`)).status, 204);
    const secret = { name: "ONCE", value: "only a value", idempotency_key: "once" };
    assert.equal((await server.call("POST", "/v1/secrets", { body: secret })).status, 201);
    const count = await countEvents();
    assert.equal((await asOwner("DELETE", `${path}/${body.id}`)).status, 204);
    assert.equal(
      (await asOwner("DELETE", `${path}/${encodeId("key", "00000000-0000-7000-8000-000000000000")}`)).status,
      404,
    );
    assert.equal((await asOwner("POST", "/api/projects", { name: "Default", slug: "default" })).status, 409);
    const replay = await server.call("POST", "/v1/secrets", { body: secret });
    assert.deepEqual([replay.status, replay.headers.get("idempotency-replayed")], [201, "true"]);
    assert.equal(await countEvents(), count);
  });
});

describe("what is written down", () => {
  test("the changes of a key to secrets, schedules and deployments", async () => {
    const worker = await startWorker(server);
    const deployment = await createReadyDeployment(server, worker, { tasks: [{ id: "report" }] });
    await promote(server, deployment.id);
    await promote(server, deployment.id);
    const call = async (method: string, path: string, body?: object) => {
      const answer = await server.call(method, path, body === undefined ? {} : { body });
      assert.ok(answer.status < 300, answer.text);
      return answer.body;
    };
    const value = "a value that nobody may read";
    const secret = await call("POST", "/v1/secrets", { name: "A", value });
    await call("POST", `/v1/secrets/${secret.id}/rotate`, { value });
    await call("POST", `/v1/secrets/${secret.id}/revoke`);
    await call("POST", `/v1/secrets/${secret.id}/revoke`);
    await call("PUT", "/api/secrets/B", { value });
    await call("DELETE", "/api/secrets/B");
    const definition = { task: "report", cron: "0 0 1 1 *" };
    const schedule = await call("POST", "/api/schedules", { deduplication_key: "yearly", ...definition });
    await call("PUT", `/api/schedules/${schedule.id}`, definition);
    await call("POST", `/api/schedules/${schedule.id}/deactivate`);
    await call("POST", `/api/schedules/${schedule.id}/deactivate`);
    await call("POST", `/api/schedules/${schedule.id}/activate`);
    await call("DELETE", `/api/schedules/${schedule.id}`);
    const events = await exportedEvents(server, organizationId);
    const ofKey = events.filter(({ actor }) => actor.kind === "api_key").slice(-12);
    const [first] = ofKey;
    assert.deepEqual(
      ofKey.map(({ action }) => action),
      [
        "deployments.create",
        "deployments.promote",
        "secrets.create",
        "secrets.rotate",
        "secrets.revoke",
        "secrets.put",
        "secrets.delete",
        "schedules.put",
        "schedules.replace",
        "schedules.deactivate",
        "schedules.activate",
        "schedules.delete",
      ],
    );
    assert.deepEqual(first?.credential, first?.actor);
    assert.ok(ofKey.every((event) => event.environment_id === server.credentials.environment_id));
    assert.ok(!JSON.stringify(events).includes(value));
  });

  test("the changes of people to people and places", async () => {
    const { user_id } = await addPerson(server, "viewer");
    const done = async (method: string, path: string, body?: object) => {
      const answer = await asOwner(method, path, body);
      assert.ok(answer.status < 300, answer.text);
      return answer.body;
    };
    const project = await done("POST", "/api/projects", { name: "Audited" });
    await done("PATCH", `/api/projects/${project.id}`, { name: "Watched" });
    const environment = await done("POST", `/api/projects/${project.id}/environments`, { name: "Staging" });
    await done("PATCH", `/api/projects/${project.id}/environments/${environment.id}`, { name: "Stage" });
    await done("PATCH", `/api/members/${user_id}`, { role: "developer" });
    await done("PATCH", `/api/members/${user_id}`, { role: "developer" });
    await done("DELETE", `/api/members/${user_id}`);
    const invitation = await done("POST", "/api/invitations", { email: "new@example.com", role: "viewer" });
    await done("DELETE", `/api/invitations/${invitation.id}`);
    await done("DELETE", `/api/invitations/${invitation.id}`);
    const events = (await exportedEvents(server, organizationId)).slice(-8);
    assert.deepEqual(
      events.map(({ action, resource, details }) => [action, resource.id, details]),
      [
        ["projects.create", project.id, { name: "Audited", slug: "audited" }],
        ["projects.update", project.id, { name: "Watched" }],
        ["environments.create", environment.id, { name: "Staging", slug: "staging" }],
        ["environments.update", environment.id, { name: "Stage" }],
        ["members.update", user_id, { from: "viewer", to: "developer" }],
        ["members.remove", user_id, { from: "developer" }],
        ["invitations.create", invitation.id, { email: "new@example.com", role: "viewer" }],
        ["invitations.revoke", invitation.id, {}],
      ],
    );
    assert.equal(events[2]?.environment_id, environment.id);
  });

  test("sign-ins and sign-outs, in the chain of the installation", async () => {
    const { email, user_id } = await addPerson(server, "viewer");
    const started = await server.call("POST", "/api/auth/magic-link/start", { as: null, body: { email } });
    const token = server.mails.at(-1)?.match(/token=(\S+)/)?.[1];
    const signedIn = await server.call("POST", "/api/auth/magic-link/finish", {
      as: null,
      body: { token, nonce: started.body.nonce },
    });
    assert.equal(signedIn.status, 200, signedIn.text);
    const login = await newestEvent(server, null);
    assert.deepEqual(
      [login.action, login.actor, login.credential, login.details],
      ["user_sessions.create", { kind: "user", id: user_id }, null, { method: "magic_link" }],
    );
    const left = await server.call("POST", "/api/auth/logout", { as: signedIn.body.token });
    assert.equal(left.status, 204);
    const logout = await newestEvent(server, null);
    assert.deepEqual(
      [logout.action, logout.actor.id, logout.resource, logout.credential?.id],
      ["user_sessions.end", user_id, login.resource, login.resource.id],
    );
    assert.ok(!JSON.stringify([login, logout]).includes(String(token)));
  });

  test("a newcomer's acceptance, by themselves, and the device that they approve", async () => {
    const email = "newcomer@example.com";
    const invited = await asOwner("POST", "/api/invitations", { email, role: "developer" });
    assert.equal(invited.status, 201, invited.text);
    const invitation = server.mails.at(-1)?.match(/token=(\S+)/)?.[1];
    const accepted = await server.call("POST", "/api/invitations/accept", {
      as: null,
      body: { token: invitation },
    });
    assert.equal(accepted.status, 200, accepted.text);
    const { user, token } = accepted.body;
    const event = await newestEvent(server, organizationId);
    const { session_id, ...details } = event.details;
    assert.deepEqual(
      [event.action, event.actor, event.credential, event.resource.id, details],
      ["invitations.accept", { kind: "user", id: user.id }, null, invited.body.id, { role: "developer" }],
    );
    assert.match(String(session_id), /^usess_/);
    const device = await server.call("POST", "/api/auth/device/start", {
      as: null,
      body: { client_id: "cli" },
    });
    const { user_code, device_code } = device.body;
    const approved = await server.call("POST", "/api/auth/device/approve", {
      as: token,
      body: { user_code },
    });
    assert.equal(approved.status, 200, approved.text);
    const approval = await newestEvent(server, null);
    assert.deepEqual(
      [approval.action, approval.actor.id, approval.credential?.id, approval.details],
      ["devices.approve", user.id, session_id, { client_id: "cli" }],
    );
    const signedIn = await server.call("POST", "/api/auth/device/token", { as: null, body: { device_code } });
    assert.equal(signedIn.status, 200, signedIn.text);
    const login = await newestEvent(server, null);
    assert.deepEqual(
      [login.action, login.actor.id, login.details],
      ["user_sessions.create", user.id, { method: "device" }],
    );
    for (const text of [token, invitation, user_code, device_code, signedIn.body.access_token])
      assert.ok(!JSON.stringify([event, approval, login]).includes(text));
  });
});

describe("the list", () => {
  test("is of one chain, newest first, page by page and by filters", async () => {
    const events = (await exportedEvents(server, organizationId)).toReversed();
    const paged = [];
    let cursor: string | null = null;
    do {
      const path: string = `audit-events?limit=7&organization_id=${organizationId}${cursor === null ? "" : `&cursor=${cursor}`}`;
      const { body } = await admin("GET", path);
      paged.push(...body.audit_events);
      cursor = body.next_cursor;
    } while (cursor !== null);
    assert.deepEqual(paged, events);
    const filtered = async (filter: string) =>
      (await admin("GET", `audit-events?organization_id=${organizationId}&${filter}`)).body.audit_events;
    assert.deepEqual(
      await filtered("action=projects.create"),
      events.filter(({ action }) => action === "projects.create"),
    );
    const [event] = events;
    assert.deepEqual(
      await filtered(`resource_id=${event?.resource.id}`),
      events.filter(({ resource }) => resource.id === event?.resource.id),
    );
    assert.deepEqual(await filtered(`actor_id=${event?.actor.id}&action=nothing.of_it`), []);
    const elsewhere = await admin("GET", "audit-events?limit=1");
    const foreign = await admin(
      "GET",
      `audit-events?organization_id=${organizationId}&cursor=${elsewhere.body.next_cursor}`,
    );
    assert.deepEqual([foreign.status, foreign.body.error.code], [400, "invalid_cursor"]);
  });

  test("is continued where an export ended", async () => {
    const events = await exportedEvents(server, organizationId);
    const rest = await admin(
      "GET",
      `audit-events/export?organization_id=${organizationId}&cursor=${events.length - 2}`,
    );
    assert.equal(rest.text.split("\n").length - 1, 2);
  });
});

describe("where a request comes from", () => {
  const forwarded = { "x-forwarded-for": "203.0.113.7" };
  const put = async (at: ApiServer): Promise<string | null> => {
    const answer = await at.call("PUT", "/api/secrets/FROM", { body: { value: "x" }, headers: forwarded });
    assert.ok(answer.status < 300, answer.text);
    const organization = encodeId("org", await firstOrganization(at));
    return (await newestEvent(at, organization)).address;
  };

  test("is what the socket says, whatever a caller claims", async () =>
    assert.equal(await put(server), "127.0.0.1"));

  test("is what a proxy says that is trusted", async () => {
    const behind = await startApiServer({ config: { trustedProxies: ["127.0.0.0/8"] } });
    try {
      assert.equal(await put(behind), "203.0.113.7");
    } finally {
      await behind.stop();
    }
  });

  test("needs proxies that are addresses or networks", () => {
    const read = (value: string) => loadConfig({ KEELSON_TRUSTED_PROXIES: value }).trustedProxies;
    assert.deepEqual(read(" 10.0.0.0/8, ::1 ,fd00::/8"), ["10.0.0.0/8", "::1", "fd00::/8"]);
    assert.deepEqual(read(""), []);
    for (const bad of ["proxy", "10.0.0.0/33", "10.0.0.0/8/8", "10.0.0.0/", "true"])
      assert.throws(() => read(bad), /KEELSON_TRUSTED_PROXIES/, bad);
  });
});
