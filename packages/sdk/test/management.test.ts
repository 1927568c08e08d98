import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client, KeelsonError, NotFoundError } from "@keelson/sdk";
import { startApiServer, type ApiServer } from "../../server/test/support/api-server.ts";

let server: ApiServer;
before(async () => {
  server = await startApiServer();
});
after(() => server.stop());

async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const one of source) all.push(one);
  return all;
}

const person = (): Client => new Client({ url: server.url, apiKey: server.credentials.user_token });
const admin = (): Client => new Client({ url: server.url, apiKey: server.credentials.admin_key });

test("a person makes, finds and renames a project and its environments", async () => {
  const { projects, environments } = person();
  const made = await projects.create({ name: "Reports", slug: "reports" });
  assert.equal((await projects.get(made.id)).slug, "reports");
  assert.equal((await projects.update(made.id, { name: "Weekly reports" })).name, "Weekly reports");
  const listed = await collect(projects.list({ organizationId: made.organizationId }));
  assert.ok(listed.some(({ id }) => id === made.id));
  const staging = await environments.create(made.id, { name: "Staging" });
  const place = { projectId: made.id, environmentId: staging.id };
  assert.equal((await environments.update(place, { slug: "preview" })).slug, "preview");
  const slugs = (await collect(environments.list(made.id))).map(({ slug }) => slug);
  assert.deepEqual(slugs.toSorted(), ["development", "preview", "production"]);
  await assert.rejects(projects.get("proj_01k00000000000000000000000"), NotFoundError);
});

test("a person makes an API key, and revoked it is refused", async () => {
  const { apiKeys } = person();
  const { project_id: projectId, environment_id: environmentId } = server.credentials;
  const place = { projectId, environmentId };
  const key = await apiKeys.create(place, { name: "CI", permissions: ["runs.read"], expiresIn: "1h" });
  const keyed = new Client({ url: server.url, apiKey: key.apiKey });
  await keyed.runs.counts();
  const listed = (await collect(apiKeys.list(place))).find(({ id }) => id === key.id);
  assert.deepEqual(listed?.permissions, ["runs.read"]);
  await apiKeys.revoke(place, key.id);
  await assert.rejects(keyed.runs.counts(), { status: 401 });
});

test("a person sees who they are and who is a member, and invites", async () => {
  const { account, members, invitations } = person();
  const me = await account.get();
  const organizationId = me.organizations[0]?.id;
  const [member] = await collect(members.list({ organizationId }));
  assert.equal(member?.userId, me.user?.id);
  const invitation = await invitations.create({ email: "ada@example.com", role: "viewer", organizationId });
  const listed = await collect(invitations.list({ organizationId }));
  assert.deepEqual(
    listed.map(({ id }) => id),
    [invitation.id],
  );
  await invitations.revoke(invitation.id, { organizationId });
  await assert.rejects(members.update("user_01k00000000000000000000000", { role: "viewer" }), NotFoundError);
});

test("an administrator reads the audit log page by page, and finds workers", async () => {
  const { auditEvents, workers } = admin();
  const me = await person().account.get();
  const organizationId = me.organizations[0]?.id;
  const page = await auditEvents.list({ organizationId, action: "invitations.create", limit: 1 }).page();
  assert.deepEqual(
    page.items.map(({ action }) => action),
    ["invitations.create"],
  );
  assert.deepEqual(await collect(workers.list({ status: "active" })), []);
  await assert.rejects(workers.get("wkr_01k00000000000000000000000"), NotFoundError);
  await assert.rejects(workers.drain("wkr_01k00000000000000000000000"), NotFoundError);
});

test("a whole chain of audit events comes as lines, from the beginning or after an event", async () => {
  const { auditEvents } = admin();
  const organizationId = (await person().account.get()).organizations[0]?.id;
  const lines = await collect(auditEvents.export({ organizationId }));
  const events = lines.map((line) => JSON.parse(line) as { sequence: number });
  assert.ok(events.length > 2);
  assert.deepEqual(
    events.map(({ sequence }) => sequence),
    events.map((_, index) => index + 1),
  );
  const cursor = String(events.length - 1);
  assert.deepEqual(await collect(auditEvents.export({ organizationId, cursor })), lines.slice(-1));
  await assert.rejects(collect(person().auditEvents.export({ organizationId: "org_none" })), KeelsonError);
  await assert.rejects(collect(auditEvents.export({}, { signal: AbortSignal.abort() })), {
    name: "AbortError",
  });
});

test("a program signs in once a person has approved it in a browser", async () => {
  const { devices } = new Client({ url: server.url, apiKey: null });
  const pending = await devices.start();
  await assert.rejects(devices.token(pending.deviceCode), { code: "authorization_pending" });
  const { deviceCode, userCode } = await devices.start({ clientId: "a test" });
  await person().request({
    method: "POST",
    path: "/api/auth/device/approve",
    body: { json: { user_code: userCode } },
  });
  const { accessToken: apiKey, user } = await devices.token(deviceCode);
  const me = await new Client({ url: server.url, apiKey }).account.get();
  assert.equal(me.user?.id, user.id);
});
