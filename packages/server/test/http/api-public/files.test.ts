// What a page does to the files of a session with a public access token.

import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { after, afterEach, before, describe, test } from "node:test";
import { sql } from "../../../src/db/sql.ts";
import { digestOf, type Answer } from "../../support/api-server.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import { cancelSessions, startSession } from "../../support/session-scene.ts";
import { addApiKey } from "../../support/tenancy.ts";

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [], actors: [{ id: "chat" }] });
});
after(() => scene.stop());
afterEach(() => cancelSessions(scene));

const ORIGIN = { origin: "https://elsewhere.example" };
const codeOf = ({ status, body }: Answer): string => (status < 400 ? String(status) : body.error.code);

const create = (session: Json, scope: object, extra: object = {}, as?: string): Promise<Answer> =>
  scene.call("POST", "/api/public-access-tokens", {
    ...(as === undefined ? {} : { as }),
    body: { scope: { session: { type: "id", id: session.id }, ...scope }, ...extra },
  });

async function mint(session: Json, type: string, extra: object = {}, scope: object = {}): Promise<string> {
  const answer = await create(session, { type, ...scope }, extra);
  assert.equal(answer.status, 201, answer.text);
  return answer.body.public_access_token;
}

async function usesOf(token: string): Promise<number | undefined> {
  const [row] = await scene.server.db.query<{ uses: number }>(
    sql`SELECT uses FROM public_access_tokens WHERE digest = ${hash("sha256", token, "buffer")}`,
  );
  return row?.uses;
}

const PICTURE = Buffer.from("a picture");

const put = (as: string, session: Json, bytes = PICTURE, digest = digestOf(bytes)): Promise<Answer> =>
  scene.call("PUT", `/api/v1/sessions/${session.id}/files/${digest}?name=a.png`, {
    ...{ as, bytes, headers: { ...ORIGIN, "content-type": "image/png" } },
  });
const get = (as: string, session: Json, rest = ""): Promise<Answer> =>
  scene.call("GET", `/api/v1/sessions/${session.id}/files${rest}`, { as, headers: ORIGIN });

describe("a page with a token for a conversation", () => {
  test("uploads a file, lists it and reads it, from any origin", async () => {
    const session = await startSession(scene, { external_id: "visitor-7" });
    const as = await mint(session, "session.chat");
    const uploaded = await put(as, session);
    assert.equal(uploaded.status, 201, uploaded.text);
    assert.deepEqual([uploaded.body.media_type, uploaded.body.name], ["image/png", "a.png"]);
    assert.equal(uploaded.headers.get("access-control-allow-origin"), "*");
    assert.deepEqual((await get(as, session)).body, { files: [uploaded.body], next_cursor: null });
    const { id } = uploaded.body;
    assert.deepEqual((await get(as, session, `/${id}`)).body, uploaded.body);
    const content = await get(as, session, `/${id}/content`);
    assert.deepEqual([content.text, content.headers.get("content-type")], ["a picture", "image/png"]);
    assert.equal(content.headers.get("content-security-policy"), "default-src 'none'; sandbox");
    const named = (rest: string): Promise<Answer> =>
      scene.call("GET", `/api/v1/sessions/by-external-id/files${rest}?external_id=visitor-7`, { as });
    assert.equal((await named("")).body.files.length, 1);
    assert.equal((await named(`/${id}/content`)).text, "a picture");
    const path = `/api/v1/sessions/by-external-id/files/${digestOf(PICTURE)}?external_id=visitor-7&name=a.png`;
    const again = await scene.call("PUT", path, {
      as,
      bytes: PICTURE,
      headers: { "content-type": "image/png" },
    });
    assert.deepEqual([again.status, again.body.id], [200, id]);
  });

  test("may send the upload: a preflight lets it", async () => {
    const session = await startSession(scene);
    const answer = await fetch(
      `${scene.server.url}/api/v1/sessions/${session.id}/files/${digestOf(PICTURE)}`,
      {
        method: "OPTIONS",
        headers: { ...ORIGIN, "access-control-request-method": "PUT" },
      },
    );
    assert.equal(answer.status, 204);
    assert.match(answer.headers.get("access-control-allow-methods") ?? "", /PUT/);
  });

  test("has no other session's files, and tells nothing of what it refuses", async () => {
    const [own, other] = [await startSession(scene), await startSession(scene)];
    const as = await mint(own, "session.chat");
    const theirs = (await put(await mint(other, "session.chat"), other)).body;
    const absent = { id: `${own.id.slice(0, -3)}zzz` };
    for (const rest of ["", `/${theirs.id}`, `/${theirs.id}/content`]) {
      const [foreign, none] = [await get(as, other, rest), await get(as, absent, rest)];
      assert.equal(codeOf(foreign), "scope_mismatch");
      assert.deepEqual(foreign.body.error.message, none.body.error.message);
    }
    assert.equal(codeOf(await get(as, own, `/${theirs.id}`)), "scope_mismatch");
    assert.equal(codeOf(await get(as, own, "/file_1/content")), "scope_mismatch");
    assert.equal(codeOf(await put(as, other)), "scope_mismatch");
  });

  test("has no files when it is for one correlation id, because files have none", async () => {
    const session = await startSession(scene);
    const { id } = (await put(await mint(session, "session.chat"), session)).body;
    const as = await mint(session, "session.chat", {}, { correlation_id: "q1" });
    const answers = [await get(as, session), await get(as, session, `/${id}`), await put(as, session)];
    assert.deepEqual(answers.map(codeOf), ["scope_mismatch", "scope_mismatch", "scope_mismatch"]);
  });
});

describe("a token for the files of a session", () => {
  test("reads or writes them, and nothing else", async () => {
    const session = await startSession(scene);
    const [read, write] = [
      await mint(session, "session.files.read"),
      await mint(session, "session.files.write"),
    ];
    const { id } = (await put(write, session)).body;
    assert.equal((await get(read, session, `/${id}/content`)).text, "a picture");
    const answers = [
      await put(read, session),
      await get(write, session),
      await get(write, session, `/${id}`),
      await get(write, session, `/${id}/content`),
      await scene.call("GET", `/api/v1/sessions/${session.id}/outputs/output/read?wait=0s`, { as: read }),
      await scene.call("GET", `/api/v1/sessions/${session.id}/messages`, { as: read }),
      await scene.call("POST", `/api/v1/sessions/${session.id}/inputs/input`, {
        as: write,
        body: { data: 1 },
      }),
    ];
    assert.deepEqual(new Set(answers.map(codeOf)), new Set(["scope_mismatch"]));
    const sender = await mint(session, "session.output.read", {}, { stream: "output" });
    assert.equal(codeOf(await get(sender, session)), "scope_mismatch");
  });

  test("counts its uses: what is refused, and a file that is there already, are none", async () => {
    const session = await startSession(scene);
    const as = await mint(session, "session.files.write", { max_uses: 2 });
    assert.equal(codeOf(await put(as, session, PICTURE, digestOf(Buffer.from("other")))), "invalid_request");
    assert.equal(await usesOf(as), 0);
    assert.equal(codeOf(await put(as, session)), "201");
    assert.equal(codeOf(await put(as, session)), "200");
    assert.equal(await usesOf(as), 1);
    const more = await Promise.all([1, 2, 3].map((n) => put(as, session, Buffer.from(`file ${n}`))));
    assert.deepEqual(more.map(codeOf).toSorted(), ["201", "unauthenticated", "unauthenticated"]);
    assert.equal(codeOf(await put(as, session)), "unauthenticated");
    const reader = await mint(session, "session.files.read", { max_uses: 2 });
    const { files } = (await get(reader, session)).body;
    assert.equal(files.length, 2);
    assert.equal(codeOf(await get(reader, session, "/file_1")), "scope_mismatch");
    assert.equal(codeOf(await get(reader, session, `/${files[0].id}/content`)), "200");
    assert.equal(codeOf(await get(reader, session)), "unauthenticated");
  });

  test("names no stream and no correlation id, and gives nothing that its maker lacks", async () => {
    const session = await startSession(scene);
    for (const type of ["session.files.read", "session.files.write"])
      for (const scope of [{ stream: "output" }, { inputs: ["input"] }, { correlation_id: "q1" }]) {
        const answer = await create(session, { type, ...scope });
        assert.equal(answer.status, 400, answer.text);
        assert.equal(answer.body.error.details.issues[0].path, "scope", answer.text);
      }
    assert.equal(
      codeOf(await create({ id: `${session.id.slice(0, -3)}zzz` }, { type: "session.files.read" })),
      "not_found",
    );
    const reader = await addApiKey(scene.server, ["public_access_tokens.create", "sessions.read"]);
    assert.equal(codeOf(await create(session, { type: "session.files.write" }, {}, reader)), "forbidden");
    assert.equal(codeOf(await create(session, { type: "session.files.read" }, {}, reader)), "201");
  });

  test("takes no more once the session has ended, and still reads", async () => {
    const session = await startSession(scene);
    const as = await mint(session, "session.chat", { max_uses: 5 });
    const { id } = (await put(as, session)).body;
    await scene.call("POST", `/api/sessions/${session.id}/close`);
    assert.equal(codeOf(await put(as, session, Buffer.from("late"))), "session_closed");
    assert.equal(await usesOf(as), 1);
    assert.equal((await get(as, session, `/${id}/content`)).text, "a picture");
  });
});
