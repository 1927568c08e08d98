import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { encodeId } from "@keelson/contract";
import { SERVER_VERSION } from "../../../src/version.ts";
import { startApiServer, type Answer, type ApiServer } from "../../support/api-server.ts";
import { asAdmin, newestEvent } from "../../support/audit.ts";
import { until } from "../../support/until.ts";
import { enrollWorker } from "../../support/raw-worker.ts";
import { addPerson, addUser } from "../../support/tenancy.ts";

let server: ApiServer;
let admin: ReturnType<typeof asAdmin>;

before(async () => {
  server = await startApiServer();
  admin = asAdmin(server);
});
after(() => server.stop());

const refusal = ({ status, body }: Answer): [number, string] => [status, body.error.code];
const done = async (...call: Parameters<ReturnType<typeof asAdmin>>) => {
  const answer = await admin(...call);
  assert.ok(answer.status < 300, answer.text);
  return answer.body;
};

describe("organizations", () => {
  test("one is made with its first owner, who makes its projects", async () => {
    const owner_email = "ada@example.com";
    const organization = await done("POST", "organizations", { name: "Analytical Engines", owner_email });
    assert.deepEqual(
      [organization.slug, organization.members, organization.projects, organization.worker_group_id],
      ["analytical-engines", 1, 0, null],
    );
    assert.deepEqual(await done("GET", `organizations/${organization.id}`), organization);
    const [user] = (await done("GET", `users?email=ADA@example.com`)).users;
    assert.deepEqual([user.email, user.organizations, user.is_admin], [owner_email, 1, false]);
    const event = await newestEvent(server, null);
    assert.deepEqual(
      [event.action, event.actor.kind, event.credential?.kind, event.resource.id, event.details],
      [
        "organizations.create",
        "admin_key",
        "admin_key",
        organization.id,
        { slug: "analytical-engines", owner: user.id },
      ],
    );
    const started = await server.call("POST", "/api/auth/magic-link/start", {
      as: null,
      body: { email: owner_email },
    });
    const token = server.mails.at(-1)?.match(/token=(\S+)/)?.[1];
    const signedIn = await server.call("POST", "/api/auth/magic-link/finish", {
      as: null,
      body: { token, nonce: started.body.nonce },
    });
    const project = await server.call("POST", "/api/projects", {
      as: signedIn.body.token,
      body: { name: "First" },
    });
    assert.equal(project.status, 201, project.text);
  });

  test("an owner who has an account keeps it, and the organization's environments get its workers", async () => {
    const { email, token } = await addPerson(server, null);
    const group = await done("POST", "worker-groups", { name: "theirs" });
    const organization = await done("POST", "organizations", {
      name: "Second",
      owner_email: email.toUpperCase(),
      worker_group_id: group.id,
    });
    assert.equal(organization.worker_group_id, group.id);
    const project = await server.call("POST", "/api/projects", {
      as: token,
      body: { name: "P", organization_id: organization.id },
    });
    assert.equal(project.status, 201, project.text);
    const [environment] = (
      await server.call("GET", `/api/projects/${project.body.id}/environments`, { as: token })
    ).body.environments;
    const key = await server.call(
      "POST",
      `/api/projects/${project.body.id}/environments/${environment.id}/api-keys`,
      { as: token, body: { name: "k" } },
    );
    const created = await done("POST", "enrollment-tokens", { name: "t", worker_group_id: group.id });
    const worker = await enrollWorker({
      ...server,
      credentials: { ...server.credentials, enrollment_token: created.enrollment_token },
    });
    assert.equal((await done("GET", `workers/${worker.id}`)).worker_group_id, group.id);
    assert.equal(key.status, 201, key.text);
  });

  test("a slug that is taken and a worker group that there is not are refused", async () => {
    const body = { name: "Default", owner_email: "x@example.com" };
    assert.deepEqual(refusal(await admin("POST", "organizations", body)), [409, "already_exists"]);
    const worker_group_id = encodeId("wgrp", "00000000-0000-7000-8000-000000000000");
    const refused = await admin("POST", "organizations", { ...body, slug: "other", worker_group_id });
    assert.deepEqual(refusal(refused), [400, "invalid_request"]);
    assert.equal(refused.body.error.details.issues[0].path, "worker_group_id");
    assert.deepEqual((await done("GET", "users?email=x@example.com")).users, []);
  });

  test("are listed page by page, newest first", async () => {
    const all = (await done("GET", "organizations")).organizations;
    const first = await done("GET", "organizations?limit=2");
    const second = await done("GET", `organizations?limit=200&cursor=${first.next_cursor}`);
    assert.deepEqual([...first.organizations, ...second.organizations], all);
    assert.equal(all.at(-1).slug, "default");
    const crossed = await admin("GET", `users?cursor=${first.next_cursor}`);
    assert.deepEqual(refusal(crossed), [400, "invalid_cursor"]);
  });
});

describe("users", () => {
  test("one who is made an administrator may use these routes, and no longer when they are none", async () => {
    const { token, user_id } = await addPerson(server, "viewer");
    const asUser = () => server.call("GET", "/admin/api/v1/users", { as: token });
    assert.deepEqual(refusal(await asUser()), [401, "unauthenticated"]);
    assert.equal((await done("PATCH", `users/${user_id}`, { is_admin: true })).is_admin, true);
    // A server trusts what it looked up for a second.
    await until("the new administrator is let in", 60_000, async () => (await asUser()).status === 200);
    const changed = await server.call("PATCH", `/admin/api/v1/users/${user_id}`, {
      as: token,
      body: { is_admin: false },
    });
    assert.equal(changed.status, 200, changed.text);
    const event = await newestEvent(server, null);
    assert.deepEqual(
      [event.action, event.actor, event.resource.id, event.details],
      ["users.update", { kind: "user", id: user_id }, user_id, { is_admin: false }],
    );
    await until(
      "the administrator of before is refused",
      60_000,
      async () => (await asUser()).status === 401,
    );
  });

  test("a suspended one is refused with every session, cannot sign in, and comes back as they were", async () => {
    const { token, user_id, email } = await addPerson(server, "developer");
    const me = () => server.call("GET", "/api/me", { as: token });
    assert.equal((await me()).status, 200);
    const suspended = await done("PATCH", `users/${user_id}`, { suspended: true });
    assert.ok(suspended.suspended_at);
    assert.equal(
      (await done("PATCH", `users/${user_id}`, { suspended: true })).suspended_at,
      suspended.suspended_at,
    );
    await until("the session is refused", 60_000, async () => (await me()).status === 401);
    const started = await server.call("POST", "/api/auth/magic-link/start", { as: null, body: { email } });
    const link = server.mails.at(-1)?.match(/token=(\S+)/)?.[1];
    const finish = () =>
      server.call("POST", "/api/auth/magic-link/finish", {
        as: null,
        body: { token: link, nonce: started.body.nonce },
      });
    assert.deepEqual(refusal(await finish()), [403, "forbidden"]);
    assert.equal((await done("PATCH", `users/${user_id}`, { suspended: false })).suspended_at, null);
    await until("the session is good again", 60_000, async () => (await me()).status === 200);
    assert.equal((await finish()).status, 200);
  });

  test("nothing but these two is changed", async () => {
    const { user_id } = await addPerson(server, "viewer");
    const { updated_at: _, ...before } = await done("GET", `users/${user_id}`);
    const { updated_at: __, ...after } = await done("PATCH", `users/${user_id}`, {});
    assert.deepEqual(after, before);
    assert.deepEqual(refusal(await admin("PATCH", `users/${user_id}`, { email: "a@example.com" })), [
      400,
      "invalid_request",
    ]);
  });
});

describe("worker groups and their tokens", () => {
  test("a group's workers are those that enroll with its token, until it is revoked or runs out", async () => {
    const group = await done("POST", "worker-groups", { name: "gpu" });
    assert.deepEqual(await done("GET", `worker-groups/${group.id}`), group);
    assert.deepEqual(refusal(await admin("POST", "worker-groups", { name: "gpu" })), [409, "already_exists"]);
    assert.ok(
      (await done("GET", "worker-groups")).worker_groups.some(({ id }: { id: string }) => id === group.id),
    );
    const { enrollment_token, ...token } = await done("POST", "enrollment-tokens", {
      name: "Cluster",
      worker_group_id: group.id,
      expires_in: "30d",
    });
    assert.match(enrollment_token, /^kl_enr_/);
    assert.ok(token.expires_at > token.created_at);
    assert.deepEqual(await done("GET", `enrollment-tokens/${token.id}`), token);
    const enroll = () =>
      server.call("POST", "/worker/v1/auth/token", {
        as: null,
        body: { enrollment_token, worker_protocol_version: 1 },
      });
    const minted = await enroll();
    assert.equal(minted.body.worker.worker_group_id, group.id, minted.text);
    const listed = async (): Promise<string[]> =>
      (await done("GET", "enrollment-tokens")).enrollment_tokens.map(({ id }: { id: string }) => id);
    assert.ok((await listed()).includes(token.id));
    assert.equal((await admin("DELETE", `enrollment-tokens/${token.id}`)).status, 204);
    assert.deepEqual(refusal(await enroll()), [401, "unauthenticated"]);
    assert.ok(!(await listed()).includes(token.id));
    const event = await newestEvent(server, null);
    assert.deepEqual([event.action, event.resource.id], ["enrollment_tokens.revoke", token.id]);
    assert.equal((await admin("DELETE", `enrollment-tokens/${token.id}`)).status, 204);
    assert.equal((await newestEvent(server, null)).id, event.id);
    assert.ok((await done("GET", `enrollment-tokens/${token.id}`)).revoked_at);
    // Its worker stays.
    const status = await server.call("GET", "/worker/v1/status", { as: minted.body.token });
    assert.equal(status.status, 200);
  });

  test("a token's group must be there, and its life be one", async () => {
    const [group] = (await done("GET", "worker-groups")).worker_groups;
    for (const body of [
      { name: "a", worker_group_id: encodeId("wgrp", "00000000-0000-7000-8000-000000000000") },
      { name: "a", worker_group_id: group.id, expires_in: "0s" },
      { name: "a", worker_group_id: group.id, expires_in: "4000d" },
    ])
      assert.deepEqual(refusal(await admin("POST", "enrollment-tokens", body)), [400, "invalid_request"]);
  });
});

describe("the system", () => {
  test("says its versions, what its promises rest on, and what fills it", async () => {
    const system = await done("GET", "system");
    const packagePath = new URL("../../../package.json", import.meta.url);
    const { version } = JSON.parse(await readFile(packagePath, "utf8")) as { version: string };
    assert.deepEqual([system.version, SERVER_VERSION], [version, version]);
    const { fsync, full_page_writes, synchronous_commit, size_bytes, ...database } = system.database;
    assert.deepEqual([fsync, full_page_writes, synchronous_commit], ["on", "on", "on"]);
    assert.deepEqual([database.synchronous_standby_names, database.standbys], ["", 0]);
    assert.ok(size_bytes > 0);
    const names = system.tables.map(({ name }: { name: string }) => name);
    assert.ok(["runs", "executions", "audit_events"].every((name) => names.includes(name)));
    assert.equal(system.retention.audit_events, null);
    assert.equal(system.migrations[0].name.startsWith("0001"), true);
  });

  test("is not for owners of organizations", async () => {
    const answer = await server.call("GET", "/admin/api/v1/system", { as: await addUser(server, "owner") });
    assert.deepEqual(refusal(answer), [401, "unauthenticated"]);
  });
});
