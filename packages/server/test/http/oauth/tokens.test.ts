// What the tokens of a connected client are good for, and how they change.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { decodeId, encodeId, type Uuid } from "@keelson/contract";
import { sql } from "../../../src/db/sql.ts";
import { startApiServer, type Answer, type ApiServer } from "../../support/api-server.ts";
import { newestEvent } from "../../support/audit.ts";
import {
  approve,
  askToken,
  callTool,
  codeFields,
  codeIn,
  connectClient,
  newVerifier,
  ping,
  refresh,
  register,
  type Connected,
} from "../../support/oauth.ts";
import { addForeignPlace, addPerson, addUser, firstOrganization } from "../../support/tenancy.ts";
import { createTestClock, type TestClock } from "../../support/test-clock.ts";
import { until } from "../../support/until.ts";

let server: ApiServer;
let clock: TestClock;
/** Another server of the same installation. */
let other: Awaited<ReturnType<ApiServer["startReplica"]>>;
before(async () => {
  clock = createTestClock();
  server = await startApiServer({ clock: clock.now });
  other = await server.startReplica();
});
after(async () => {
  await other.stop();
  await server.stop();
});

const owner = () => ({ as: server.credentials.user_token });
const errorOf = ({ status, body }: Answer): [number, string] => [status, body.error];
const INVALID_GRANT: [number, string] = [400, "invalid_grant"];

/** The tokens of an answer. */
function given(answer: Answer): { access: string; refresh: string } {
  assert.equal(answer.status, 200, answer.text);
  return { access: answer.body.access_token, refresh: answer.body.refresh_token };
}

/** Until both servers refuse it: a revocation is told to the other one. */
const isRefused = (access: string): Promise<void> =>
  until("the token is refused by both servers", 10_000, async () => {
    const statuses = [(await ping(server, access)).status, (await ping(other, access)).status];
    return statuses.every((status) => status === 401);
  });

/** Until the database has that the tokens of so many generations were used. */
const isNoted = (clientId: string, generations: number): Promise<void> =>
  until("the use is noted", 20_000, async () => {
    const { body } = await server.call("GET", "/api/oauth-grants?limit=200", owner());
    const grant = body.oauth_grants.find(({ client }: { client: { id: string } }) => client.id === clientId);
    const [row] = await server.db.query<{ used: number }>(sql`
      SELECT used_generation AS used FROM oauth_grants WHERE client_id = ${decodeId("ocl", clientId)}`);
    return grant?.last_used_at !== null && row?.used === generations;
  });

describe("an access token", () => {
  test("is for /mcp and the tools there, and for no other route", async () => {
    const { access } = await connectClient(server);
    assert.equal((await ping(server, access)).status, 200);
    const listed = await callTool(server, access, "keelson_list_runs");
    assert.deepEqual([listed.status, listed.body.result.isError], [200, undefined], listed.text);
    for (const [method, path] of [
      ["GET", "/v1/runs"],
      ["GET", "/v1/tasks"],
      ["GET", "/api/me"],
      ["GET", "/api/oauth-grants"],
      ["POST", "/v1/tokens"],
      ["GET", "/admin/api/v1/users"],
    ] as const) {
      const answer = await server.call(method, path, { as: access, ...(method === "POST" && { body: {} }) });
      assert.equal(answer.status, 401, `${method} ${path}: ${answer.text}`);
    }
  });

  test("does what its person may do at the time", async () => {
    const { token: as, user_id } = await addPerson(server, "developer");
    const { access } = await connectClient(server, { as });
    const starts = (await callTool(server, access, "keelson_start_task", { declaredID: "none" })).body;
    assert.match(starts.result.content[0].text, /not_found/);
    const viewer = { ...owner(), body: { role: "viewer" } };
    assert.equal((await server.call("PATCH", `/api/members/${user_id}`, viewer)).status, 200);
    const refused = await callTool(server, access, "keelson_start_task", { declaredID: "none" });
    assert.match(refused.body.result.content[0].text, /^forbidden: /);
    assert.equal((await server.call("DELETE", `/api/members/${user_id}`, owner())).status, 204);
    assert.equal((await ping(server, access)).status, 401);
    await isRefused(access);
  });

  test("of a suspended person is refused, and so is a refresh", async () => {
    const { token: as, user_id } = await addPerson(server, "developer");
    const connected = await connectClient(server, { as });
    const suspend = { as: server.credentials.admin_key, body: { suspended: true } };
    assert.equal((await server.call("PATCH", `/admin/api/v1/users/${user_id}`, suspend)).status, 200);
    assert.equal((await ping(server, connected.access)).status, 401);
    assert.deepEqual(errorOf(await refresh(server, connected.clientId, connected.refresh)), INVALID_GRANT);
  });

  test("that looks is told by 403 what it needs to act, and by 401 where to get it", async () => {
    const { access } = await connectClient(server, { access: "read" });
    const acted = await callTool(server, access, "keelson_cancel_run", { id: "run_1" });
    assert.equal(acted.status, 403, acted.text);
    const challenge = acted.headers.get("www-authenticate") ?? "";
    assert.match(challenge, /^Bearer error="insufficient_scope", scope="mcp:read mcp:write"/);
    assert.match(challenge, /resource_metadata="/);
    const unknown = await ping(server, `${access.slice(0, -1)}${access.endsWith("a") ? "b" : "a"}`);
    assert.match(unknown.headers.get("www-authenticate") ?? "", /error="invalid_token"/);
  });
});

describe("the clients of a removed member", () => {
  const memberPath = ({ user_id }: { user_id: string }): string => `/api/members/${user_id}`;
  type Person = Awaited<ReturnType<typeof addPerson>>;

  /** As an invitation does that they accept. */
  const comesBack = async ({ userId }: Person): Promise<void> => {
    await server.db.query(sql`
      INSERT INTO members (organization_id, user_id, role) VALUES (${await firstOrganization(server)}, ${userId}, 'owner')`);
  };

  test("stay disconnected when the person comes back, and the audit log names them", async () => {
    const person = await addPerson(server, "developer");
    const as = person.token;
    const [one, two] = [await connectClient(server, { as }), await connectClient(server, { as })];
    // Approved by now, and not yet exchanged.
    const verifier = newVerifier();
    const clientId = await register(server);
    const code = codeIn(await approve(server, clientId, verifier, { as }));
    const others = await connectClient(server);
    assert.equal((await server.call("DELETE", memberPath(person), owner())).status, 204);
    const event = await newestEvent(server, encodeId("org", await firstOrganization(server)));
    assert.deepEqual([event.action, event.details["from"]], ["members.remove", "developer"]);
    const granted = await server.db.query<{ id: Uuid<"ogr"> }>(
      sql`SELECT id FROM oauth_grants WHERE user_id = ${person.userId}`,
    );
    assert.equal(granted.length, 3);
    assert.deepEqual(
      (event.details["oauth_grants"] as string[]).toSorted(),
      granted.map(({ id }) => encodeId("ogr", id)).toSorted(),
    );
    await comesBack(person);
    for (const { access } of [one, two]) await isRefused(access);
    for (const { clientId: id, refresh: token } of [one, two])
      assert.deepEqual(errorOf(await refresh(server, id, token)), INVALID_GRANT);
    assert.deepEqual(
      errorOf(await askToken(server, codeFields(clientId, code, verifier))),
      INVALID_GRANT,
      "a code from before gives nothing",
    );
    assert.deepEqual((await server.call("GET", "/api/oauth-grants", { as })).body.oauth_grants, []);
    assert.equal((await ping(server, others.access)).status, 200, "another person's are as they were");
    const again = await connectClient(server, { as });
    assert.equal((await ping(server, again.access)).status, 200);
  });

  test("of another organization stay connected, and so do those of a member whose role changes", async () => {
    const person = await addPerson(server, "developer");
    const foreign = await addForeignPlace(server);
    await server.db.query(sql`
      INSERT INTO members (organization_id, user_id, role) VALUES (${foreign.organizationId}, ${person.userId}, 'developer')`);
    const at = { project_id: foreign.project_id, environment_id: foreign.environment_id };
    const elsewhere = await connectClient(server, { as: person.token, at });
    const here = await connectClient(server, { as: person.token });
    const role = { ...owner(), body: { role: "viewer" } };
    assert.equal((await server.call("PATCH", memberPath(person), role)).status, 200);
    assert.equal((await ping(server, here.access)).status, 200);
    assert.equal((await server.call("DELETE", memberPath(person), owner())).status, 204);
    await isRefused(here.access);
    assert.equal((await ping(server, elsewhere.access)).status, 200);
  });

  test("are disconnected also when one is connected while its person is removed", async () => {
    const person = await addPerson(server, "developer");
    const clientId = await register(server);
    const verifier = newVerifier();
    let approving: Promise<Answer> | undefined;
    let removing: Promise<Answer> | undefined;
    const { db } = server;
    const waiting = (count: number) => (): Promise<boolean> =>
      db
        .query(
          sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        )
        .then((rows) => rows.length >= count);
    await db.transaction(async (tx) => {
      // The approval has looked the member up, and waits here before it makes the grant.
      await tx.query(sql`SELECT FROM oauth_clients WHERE id = ${decodeId("ocl", clientId)} FOR UPDATE`);
      approving = approve(server, clientId, verifier, { as: person.token });
      await until("the approval waits", 60_000, waiting(1));
      let isRemoved = false;
      removing = other.call("DELETE", memberPath(person), owner()).finally(() => (isRemoved = true));
      const waitsToo = waiting(2);
      await until("the removal waits", 60_000, async () => isRemoved || (await waitsToo()));
    });
    const code = codeIn((await approving) as Answer);
    assert.equal((await removing)?.status, 204);
    await comesBack(person);
    assert.deepEqual(errorOf(await askToken(server, codeFields(clientId, code, verifier))), INVALID_GRANT);
  });
});

describe("a person", () => {
  type Listed = { id: string; client: { id: string; name: string }; access: string };

  async function listOf(as: string): Promise<Listed[]> {
    const { status, body, text } = await server.call("GET", "/api/oauth-grants", { as });
    assert.equal(status, 200, text);
    return body.oauth_grants;
  }
  const grantOf = async (as: string, { clientId }: Connected): Promise<Listed | undefined> =>
    (await listOf(as)).find(({ client }) => client.id === clientId);

  test("sees the clients that they connected, and nobody else's", async () => {
    const as = await addUser(server, "developer");
    const [one, two] = [
      await connectClient(server, { as, access: "read" }),
      await connectClient(server, { as }),
    ];
    await connectClient(server);
    const listed = await listOf(as);
    assert.deepEqual(
      listed.map(({ client, access }) => [client.id, client.name, access]),
      [
        [two.clientId, "Test client", "write"],
        [one.clientId, "Test client", "read"],
      ],
    );
    const page = await server.call("GET", "/api/oauth-grants?limit=1", { as });
    assert.ok(page.body.next_cursor !== null);
  });

  test("disconnects one at once, and no other person's", async () => {
    const as = await addUser(server, "developer");
    const connected = await connectClient(server, { as });
    const grant = (await grantOf(as, connected)) as Listed;
    const stranger = await addUser(server, "owner");
    const path = `/api/oauth-grants/${grant.id}`;
    assert.equal((await server.call("DELETE", path, { as: stranger })).status, 404);
    assert.equal((await ping(other, connected.access)).status, 200);
    assert.equal((await server.call("DELETE", path, { as })).status, 204);
    assert.equal((await ping(server, connected.access)).status, 401);
    await isRefused(connected.access);
    assert.deepEqual(errorOf(await refresh(server, connected.clientId, connected.refresh)), INVALID_GRANT);
    assert.deepEqual(await listOf(as), []);
    assert.equal((await server.call("DELETE", path, { as })).status, 204, "again changes nothing");
  });
});

describe("a refresh token", () => {
  test("gives the next ones, and an hour later the old access token is over", async () => {
    const first = await connectClient(server);
    const second = given(await refresh(server, first.clientId, first.refresh));
    assert.notEqual(second.refresh, first.refresh);
    assert.equal((await ping(server, second.access)).status, 200);
    clock.advance(3_600_001);
    assert.equal((await ping(server, first.access)).status, 401);
    assert.equal((await ping(server, second.access)).status, 401);
    const third = given(await refresh(other, first.clientId, second.refresh));
    assert.equal((await ping(server, third.access)).status, 200);
  });

  test("that comes twice at once, to two servers, gives both the same", async () => {
    const { clientId, refresh: token } = await connectClient(server);
    const answers = await Promise.all(
      [server, other, server, other].map((one) => refresh(one, clientId, token)),
    );
    const tokens = new Set(answers.map((answer) => JSON.stringify(given(answer))));
    assert.equal(tokens.size, 1);
    const { access } = given(answers[0] as Answer);
    assert.deepEqual([(await ping(server, access)).status, (await ping(other, access)).status], [200, 200]);
  });

  test("whose answer was lost gives it again, for as long as nobody has used it", async () => {
    const { clientId, refresh: token } = await connectClient(server);
    const lost = given(await refresh(server, clientId, token));
    clock.advance(8 * 3_600_000);
    const again = given(await refresh(other, clientId, token));
    assert.deepEqual(again, lost);
    assert.equal((await ping(server, again.access)).status, 200);
    // Used by now, but a minute is not over.
    await isNoted(clientId, 2);
    clock.advance(59_000);
    const next = given(await refresh(server, clientId, lost.refresh));
    clock.advance(59_000);
    assert.deepEqual(given(await refresh(server, clientId, lost.refresh)), next);
  });

  test("that was used before ends the grant on all servers", async () => {
    const { clientId, refresh: token } = await connectClient(server);
    const second = given(await refresh(server, clientId, token));
    assert.equal((await ping(other, second.access)).status, 200);
    await isNoted(clientId, 2);
    clock.advance(60_001);
    assert.deepEqual(errorOf(await refresh(server, clientId, token)), INVALID_GRANT);
    assert.equal((await ping(server, second.access)).status, 401);
    await isRefused(second.access);
    assert.deepEqual(errorOf(await refresh(server, clientId, second.refresh)), INVALID_GRANT);
  });

  test("of two refreshes ago ends the grant at once", async () => {
    const { clientId, refresh: token } = await connectClient(server);
    const second = given(await refresh(server, clientId, token));
    const third = given(await refresh(server, clientId, second.refresh));
    assert.deepEqual(errorOf(await refresh(server, clientId, token)), INVALID_GRANT);
    assert.equal((await ping(server, third.access)).status, 401);
  });

  test("is good for its client alone, and for 30 days", async () => {
    const mine = await connectClient(server);
    const theirs = await connectClient(server);
    assert.deepEqual(errorOf(await refresh(server, theirs.clientId, mine.refresh)), INVALID_GRANT);
    assert.deepEqual(errorOf(await refresh(server, mine.clientId, mine.access)), INVALID_GRANT);
    clock.advance(30 * 86_400_000);
    assert.deepEqual(errorOf(await refresh(server, mine.clientId, mine.refresh)), INVALID_GRANT);
  });
});
