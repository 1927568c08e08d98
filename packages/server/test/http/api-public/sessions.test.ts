import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { encodeId, PERMISSIONS } from "@keelson/contract";
import { sql } from "../../../src/db/sql.ts";
import type { Answer } from "../../support/api-server.ts";
import { readEvents } from "../../support/read-events.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import { emit, records, send, startSession } from "../../support/session-scene.ts";
import { addApiKey, addForeignPlace, addUser, place } from "../../support/tenancy.ts";

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "report" }], actors: [{ id: "chat" }] });
});
after(() => scene.stop());

const ORIGIN = { origin: "https://elsewhere.example" };
const codeOf = ({ status, body }: Answer): string => (status < 400 ? String(status) : body.error.code);

type Scope = { type: "session.input.send" | "session.output.read"; stream?: string; correlation_id?: string };

const scopeOf = (session: Json, scope: Scope): object => ({
  session: { type: "id", id: session.id },
  stream: scope.type === "session.input.send" ? "input" : "output",
  ...scope,
});

async function mint(session: Json, scope: Scope, extra: object = {}): Promise<string> {
  const body = { scope: scopeOf(session, scope), ...extra };
  const answer = await scene.call("POST", "/api/public-access-tokens", { body });
  assert.equal(answer.status, 201, answer.text);
  return answer.body.public_access_token as string;
}

const publicSend = (as: string, session: Json, body: object, stream = "input"): Promise<Answer> =>
  scene.call("POST", `/api/v1/sessions/${session.id}/inputs/${stream}`, { as, body, headers: ORIGIN });

const publicRead = (as: string, session: Json, query = "", stream = "output"): Promise<Answer> =>
  scene.call("GET", `/api/v1/sessions/${session.id}/outputs/${stream}/read?wait=0s${query}`, {
    as,
    headers: ORIGIN,
  });

async function usesOf(token: string): Promise<number | undefined> {
  const digest = hash("sha256", token, "buffer");
  const [row] = await scene.server.db.query<{ uses: number }>(
    sql`SELECT uses FROM public_access_tokens WHERE digest = ${digest}`,
  );
  return row?.uses;
}

const SEND = { type: "session.input.send" } as const;
const READ = { type: "session.output.read" } as const;

describe("creating a public access token", () => {
  test("shows it once, and makes the stream that it names", async () => {
    const session = await startSession(scene);
    const wanted = scopeOf(session, { ...READ, stream: "progress", correlation_id: "q" });
    const before = scene.clock.now();
    const answer = await scene.call("POST", "/api/public-access-tokens", { body: { scope: wanted } });
    assert.equal(answer.status, 201, answer.text);
    const { id, public_access_token, scope, expires_at, max_uses, ...rest } = answer.body;
    assert.match(id, /^pat_/);
    assert.match(public_access_token, /^kl_pub_[0-9A-Za-z]{38}$/);
    assert.deepEqual([scope, max_uses, Object.keys(rest)], [wanted, null, ["created_at"]]);
    assert.ok(Math.abs(Date.parse(expires_at) - before - 15 * 60_000) < 5_000);
    assert.equal(answer.headers.get("cache-control"), "no-store");
    const { streams } = await records(scene, `/api/sessions/${session.id}/streams`);
    const made = streams.find(({ name }: { name: string }) => name === "progress");
    assert.deepEqual([made.direction, made.last_sequence], ["output", 0]);
  });

  test("by an external id is bound to the session that has it now", async () => {
    const external_id = "customer 7";
    const first = await startSession(scene, { external_id });
    const body = {
      scope: { ...READ, session: { type: "external_id", external_id }, stream: "output" },
    };
    const minted = await scene.call("POST", "/api/public-access-tokens", { body });
    assert.deepEqual(minted.body.scope, body.scope);
    const as = minted.body.public_access_token;
    const path = `/api/v1/sessions/by-external-id/outputs/output/read?wait=0s&external_id=customer+7`;
    assert.equal((await scene.call("GET", path, { as })).status, 200);
    assert.equal((await publicRead(as, first)).status, 200);
    assert.equal((await scene.call("POST", `/api/sessions/${first.id}/close`)).status, 200);
    await startSession(scene, { external_id });
    assert.equal(codeOf(await scene.call("GET", path, { as })), "scope_mismatch");
    assert.equal((await publicRead(as, first)).status, 200);
  });

  test("by a user needs project_id and environment_id; a key uses its own", async () => {
    const session = await startSession(scene, { external_id: "of a user" });
    const as = await addUser(scene.server, "developer");
    const body = {
      scope: { ...READ, session: { type: "external_id", external_id: "of a user" }, stream: "output" },
    };
    assert.equal((await scene.call("POST", "/api/public-access-tokens", { as, body })).status, 400);
    const answer = await scene.call("POST", "/api/public-access-tokens", {
      as,
      body: { ...body, ...place(scene.server) },
    });
    assert.equal(answer.status, 201, answer.text);
    assert.equal((await publicRead(answer.body.public_access_token, session)).status, 200);
    const foreign = await addForeignPlace(scene.server);
    const key = await addApiKey(scene.server, PERMISSIONS, { environmentId: foreign.environmentId });
    const elsewhere = await scene.call("POST", "/api/public-access-tokens", { as: key, body });
    assert.equal(elsewhere.status, 404);
    const viewer = await addUser(scene.server, "viewer");
    const refused = await scene.call("POST", "/api/public-access-tokens", {
      as: viewer,
      body: { ...body, ...place(scene.server) },
    });
    assert.equal(codeOf(refused), "forbidden");
  });

  test("again with the same key gives the same token", async () => {
    const session = await startSession(scene);
    const body = { scope: scopeOf(session, SEND), idempotency_key: "pat once" };
    const first = await scene.call("POST", "/api/public-access-tokens", { body });
    const again = await scene.call("POST", "/api/public-access-tokens", { body });
    assert.deepEqual([again.status, again.body], [201, first.body]);
    assert.equal(again.headers.get("idempotency-replayed"), "true");
    const [stored] = await scene.server.db.query<{ body: string }>(
      sql`SELECT response_body AS body FROM idempotency_keys WHERE scope = 'public_access_tokens.create'`,
    );
    assert.doesNotMatch(stored?.body ?? "kl_", /kl_/);
  });

  test("is refused for a stream of the other direction, an unknown session, and odd limits", async () => {
    const session = await startSession(scene, { input: "hello" });
    const create = async (scope: object, extra: object = {}): Promise<string> =>
      codeOf(
        await scene.call("POST", "/api/public-access-tokens", {
          body: { scope: { session: { type: "id", id: session.id }, ...scope }, ...extra },
        }),
      );
    assert.equal(await create({ ...READ, stream: "input" }), "stream_direction_mismatch");
    const missing = encodeId("sess", "00000000-0000-7000-8000-000000000000");
    for (const id of [missing, "sess_1", "x"])
      assert.equal(await create({ ...READ, stream: "output", session: { type: "id", id } }), "not_found");
    const absent = { type: "external_id", external_id: "nobody" };
    assert.equal(await create({ ...READ, stream: "output", session: absent }), "not_found");
    for (const extra of [{ expires_in: "25h" }, { expires_in: "0s" }, { max_uses: 0 }, { uses: 1 }])
      assert.equal(await create({ ...READ, stream: "output" }, extra), "invalid_request");
    assert.equal(await create({ ...READ, stream: "no spaces" }), "invalid_request");
    assert.equal(await create({ type: "session.output.write", stream: "output" }), "invalid_request");
  });
});

describe("a browser with a public access token", () => {
  test("sends input, one record or several, as itself", async () => {
    const session = await startSession(scene);
    const as = await mint(session, SEND);
    const answer = await publicSend(as, session, { data: { text: "Hi" } });
    assert.equal(answer.status, 201, answer.text);
    assert.equal(answer.headers.get("access-control-allow-origin"), "*");
    const { source, sequence, stream, disposition } = answer.body;
    assert.deepEqual(
      [source.kind, sequence, stream, disposition],
      ["public_access_token", 1, "input", "queued"],
    );
    assert.match(source.id, /^pat_/);
    const more = await publicSend(as, session, { records: [{ data: 1 }, { data: 2 }] });
    assert.deepEqual(
      more.body.records.map((record: Json) => record.sequence),
      [2, 3],
    );
    const byName = await scene.call(
      "POST",
      `/api/v1/sessions/by-external-id/inputs/input?external_id=${session.external_id ?? "none"}`,
      { as, body: { data: 1 } },
    );
    assert.equal(codeOf(byName), "scope_mismatch");
  });

  test("reads output, as a page and as a stream, from where it stopped", async () => {
    const session = await startSession(scene);
    for (const text of ["one", "two", "three"]) assert.equal((await emit(scene, session, text)).status, 201);
    const as = await mint(session, READ);
    const page = await publicRead(as, session, "&cursor=1&limit=1");
    assert.deepEqual(
      page.body.records.map((record: Json) => record.data),
      ["two"],
    );
    assert.equal(page.headers.get("access-control-allow-origin"), "*");
    const path = `/api/v1/sessions/${session.id}/outputs/output/read?follow=1`;
    const events = await readEvents(scene.server, path, {
      as,
      headers: { "last-event-id": "1" },
      until: ({ id }) => id === "3",
    });
    assert.deepEqual(
      events.map(({ event, id }) => [event, id]),
      [
        ["record", "2"],
        ["record", "3"],
      ],
    );
  });

  test("may ask before, for ten minutes, from any origin", async () => {
    const missing = encodeId("sess", "00000000-0000-7000-8000-000000000000");
    for (const [path, method] of [
      [`/api/v1/sessions/${missing}/inputs/input`, "POST"],
      [`/api/v1/sessions/${missing}/outputs/output/read`, "GET"],
      ["/api/v1/sessions/by-external-id/inputs/input?external_id=a", "POST"],
      ["/api/v1/sessions/by-external-id/outputs/output/read?external_id=a", "GET"],
    ] as const) {
      const headers = { ...ORIGIN, "access-control-request-method": method };
      const answer = await scene.call("OPTIONS", path, { as: null, headers });
      assert.equal(answer.status, 204, path);
      assert.equal(answer.headers.get("access-control-allow-origin"), "*");
      assert.match(answer.headers.get("access-control-allow-methods") ?? "", new RegExp(method));
      assert.match(answer.headers.get("access-control-allow-headers") ?? "", /authorization.*last-event-id/);
      assert.equal(answer.headers.get("access-control-max-age"), "600");
    }
  });

  test("is refused everything that its token is not for, and no use is counted", async () => {
    const session = await startSession(scene, { external_id: "scoped" });
    const other = await startSession(scene);
    await emit(scene, session, 0, {}, "second");
    await send(scene, session, "by the application");
    const foreign = await addForeignPlace(scene.server);
    const sender = await mint(session, { ...SEND, correlation_id: "one" }, { max_uses: 1 });
    const reader = await mint(session, { ...READ, correlation_id: "one" }, { max_uses: 1 });
    const missing = encodeId("sess", "00000000-0000-7000-8000-000000000000");
    const own = { data: 1, correlation_id: "one" };
    const refused: Promise<Answer>[] = [
      publicSend(sender, other, own),
      publicSend(sender, { id: missing }, own),
      publicSend(sender, { id: "sess_1" }, own),
      publicSend(sender, { id: encodeId("sess", foreign.environmentId as string) }, own),
      publicSend(sender, session, own, "another"),
      publicSend(sender, session, own, "output"),
      publicSend(sender, session, own, "no spaces"),
      publicSend(sender, session, { data: 1 }),
      publicSend(sender, session, { ...own, correlation_id: "two" }),
      publicSend(sender, session, { records: [own, { data: 2 }] }),
      publicSend(reader, session, own),
      publicRead(sender, session),
      publicRead(reader, other),
      publicRead(reader, session, "", "second"),
      publicRead(reader, session, "", "input"),
      publicRead(reader, session, "&correlation_id=two"),
    ];
    const texts = new Set<string>();
    for (const answer of await Promise.all(refused)) {
      assert.deepEqual([answer.status, codeOf(answer)], [403, "scope_mismatch"], answer.text);
      assert.equal(answer.headers.get("access-control-allow-origin"), "*");
      texts.add(answer.body.error.message);
    }
    // Permission, stream and correlation id; not whether there is such a session.
    assert.equal(texts.size, 4, [...texts].join("\n"));
    const invalid = [
      await publicSend(sender, session, { ...own, more: 1 }),
      await publicSend(sender, session, { correlation_id: "one" }),
      await publicSend(sender, session, { ...own, data: "x".repeat(300_000) }),
      await publicRead(reader, session, "&cursor=x"),
      await publicRead(reader, session, "&wait=61s"),
    ];
    assert.deepEqual(
      invalid.map(({ status }) => status),
      [400, 400, 413, 400, 400],
    );
    assert.deepEqual([await usesOf(sender), await usesOf(reader)], [0, 0]);
    assert.equal((await publicSend(sender, session, own)).status, 201);
    assert.equal((await publicRead(reader, session)).status, 200);
    assert.deepEqual(
      [codeOf(await publicSend(sender, session, own)), codeOf(await publicRead(reader, session))],
      ["unauthenticated", "unauthenticated"],
    );
    // The scope comes first: a spent token is told what it was never for.
    assert.equal(codeOf(await publicSend(sender, other, own)), "scope_mismatch");
  });

  test("reads only the records of its correlation id", async () => {
    const session = await startSession(scene);
    for (const [data, correlation_id] of [
      [1, "one"],
      [2, "two"],
      [3, "one"],
    ] as const)
      await emit(scene, session, data, { correlation_id });
    const as = await mint(session, { ...READ, correlation_id: "one" });
    const dataOf = ({ body }: Answer): unknown[] => body.records.map((record: Json) => record.data);
    assert.deepEqual(dataOf(await publicRead(as, session)), [1, 3]);
    assert.deepEqual(dataOf(await publicRead(as, session, "&correlation_id=one&cursor=1")), [3]);
    const path = `/api/v1/sessions/${session.id}/outputs/output/read?follow=1`;
    const events = await readEvents(scene.server, path, { as, until: ({ id }) => id === "3" });
    assert.deepEqual(
      events.map(({ id }) => id),
      ["1", "3"],
    );
    const free = await mint(session, READ);
    assert.deepEqual(dataOf(await publicRead(free, session, "&correlation_id=two")), [2]);
  });

  test("may use it as often as it says, however many try at once", async () => {
    const session = await startSession(scene);
    const as = await mint(session, SEND, { max_uses: 5 });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => publicSend(as, session, { data: n })),
    );
    const taken = answers.filter(({ status }) => status === 201);
    assert.equal(taken.length, 5);
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      assert.equal(answer.status, 401, answer.text);
      assert.equal(answer.headers.get("www-authenticate"), 'Bearer realm="keelson"');
    }
    const { records: kept } = await records(scene, `/api/sessions/${session.id}/inputs/input`);
    assert.equal(kept.length, 5);
    assert.equal(await usesOf(as), 5);
  });

  test("may repeat an append with its key: that is no other use, and no other record", async () => {
    const session = await startSession(scene);
    const as = await mint(session, SEND, { max_uses: 1 });
    const body = { data: "once", idempotency_key: "append once" };
    const first = await publicSend(as, session, body);
    const again = await publicSend(as, session, body);
    assert.deepEqual([again.status, again.text], [201, first.text]);
    assert.equal(again.headers.get("idempotency-replayed"), "true");
    assert.equal(codeOf(await publicSend(as, session, { ...body, data: "other" })), "unauthenticated");
    assert.equal(await usesOf(as), 1);
    // The application's own keys are apart from those of browsers.
    const own = await send(scene, session, "application", { idempotency_key: "append once" });
    assert.deepEqual([own.status, own.body.sequence], [201, 2]);
  });

  test("may send the same with one key many times at once", async () => {
    const session = await startSession(scene);
    const as = await mint(session, SEND, { max_uses: 8 });
    const body = { data: "once", idempotency_key: "at once" };
    const answers = await Promise.all(Array.from({ length: 8 }, () => publicSend(as, session, body)));
    assert.equal(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size, 1);
    assert.equal(await usesOf(as), 1);
  });

  test("gets its use back when the append is refused", async () => {
    const session = await startSession(scene);
    const as = await mint(session, SEND, { max_uses: 1 });
    assert.equal(codeOf(await publicSend(as, session, { data: 1, while_busy: "reject" })), "session_busy");
    assert.equal(await usesOf(as), 0);
    assert.equal((await scene.call("POST", `/api/sessions/${session.id}/close`)).status, 200);
    assert.equal(codeOf(await publicSend(as, session, { data: 1 })), "session_closed");
    assert.equal(await usesOf(as), 0);
  });

  test("uses an event stream up with its opening", async () => {
    const session = await startSession(scene);
    await emit(scene, session, 1);
    const as = await mint(session, READ, { max_uses: 2 });
    const path = `/api/v1/sessions/${session.id}/outputs/output/read?follow=1`;
    for (let opening = 0; opening < 2; opening += 1)
      assert.equal((await readEvents(scene.server, path, { as, until: () => true })).length, 1);
    assert.equal((await publicRead(as, session)).status, 401);
    assert.equal(await usesOf(as), 2);
  });

  test("is refused once its token has expired, and the token is dropped later", async () => {
    const session = await startSession(scene);
    const as = await mint(session, READ, { expires_in: "1h" });
    assert.equal((await publicRead(as, session)).status, 200);
    scene.clock.advance(3_600_000);
    assert.equal(codeOf(await publicRead(as, session)), "unauthenticated");
    const other = await startSession(scene);
    assert.equal(codeOf(await publicRead(as, other)), "unauthenticated");
  });

  test("is refused with any other credential", async () => {
    const session = await startSession(scene);
    const { api_key, user_token } = scene.server.credentials;
    const token = await scene.call("POST", "/v1/tokens", { body: {} });
    for (const as of [
      api_key,
      user_token,
      token.body.public_access_token,
      "garbage",
      `${await mint(session, READ)}x`,
    ])
      assert.equal(codeOf(await publicRead(as, session)), "unauthenticated");
    const as = await mint(session, READ);
    for (const path of [`/api/sessions/${session.id}`, `/v1/sessions/${session.id}/outputs`, "/v1/runs"])
      assert.equal((await scene.call("GET", path, { as })).status, 401, path);
  });
});
