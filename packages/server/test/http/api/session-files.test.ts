// Files of a session: bytes under their digest, which messages refer to.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, afterEach, before, describe, test } from "node:test";
import { decodeId, LIMITS, PERMISSIONS } from "@keelson/contract";
import { sql } from "../../../src/db/sql.ts";
import { digestOf, type Answer } from "../../support/api-server.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import { cancelSessions, startSession } from "../../support/session-scene.ts";
import { addApiKey, addForeignPlace } from "../../support/tenancy.ts";

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [], actors: [{ id: "chat" }] });
});
after(() => scene.stop());
afterEach(() => cancelSessions(scene));

const codeOf = ({ status, body }: Answer): string =>
  `${status} ${status < 400 ? "" : body.error.code}`.trim();

type Extra = { type?: string; query?: Record<string, string>; digest?: string; as?: string; place?: string };

const upload = (session: Json, bytes: Uint8Array, extra: Extra = {}): Promise<Answer> => {
  const { type, query = {}, digest = digestOf(bytes), as, place = "/api" } = extra;
  const text = new URLSearchParams(query).toString();
  return scene.call(
    "PUT",
    `${place}/sessions/${session.id}/files/${digest}${text === "" ? "" : `?${text}`}`,
    {
      bytes,
      ...(as === undefined ? {} : { as }),
      ...(type === undefined ? {} : { headers: { "content-type": type } }),
    },
  );
};

async function uploaded(session: Json, bytes: Uint8Array, extra: Extra = {}): Promise<Json> {
  const answer = await upload(session, bytes, extra);
  assert.equal(answer.status, 201, answer.text);
  return answer.body;
}

const get = (session: Json, rest: string, headers: Record<string, string> = {}): Promise<Answer> =>
  scene.call("GET", `/api/sessions/${session.id}/files${rest}`, { headers });

const filesOf = async (session: Json): Promise<Json[]> => (await get(session, "")).body.files;
const blobsOf = (digest: string): Promise<object[]> =>
  scene.server.db.query(
    sql`SELECT size_bytes FROM blobs WHERE digest = ${Buffer.from(digest, "hex")} AND size_bytes IS NOT NULL`,
  );
/** The bytes as they came, over a connection of its own. */
async function download(session: Json, id: string, headers: Record<string, string> = {}) {
  const { url, credentials } = scene.server;
  const answer = await fetch(`${url}/api/sessions/${session.id}/files/${id}/content`, {
    headers: { authorization: `Bearer ${credentials.api_key}`, ...headers },
  });
  return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) };
}

describe("files of a session", () => {
  test("are what was uploaded, with what the uploader says of them", async () => {
    const session = await startSession(scene);
    // More than the limit of JSON, and no UTF-8.
    const bytes = randomBytes(3_000_001);
    const file = await uploaded(session, bytes, {
      type: "Image/PNG; charset=x",
      query: { name: "Beleg für Café's №1.png" },
    });
    assert.match(file.id, /^file_[0-9a-z]{26}$/);
    const { id, created_at, ...facts } = file;
    assert.ok(Date.parse(created_at) > 0);
    assert.deepEqual(facts, {
      ...{ session_id: session.id, name: "Beleg für Café's №1.png", media_type: "image/png" },
      ...{ size_bytes: bytes.length, sha256: digestOf(bytes) },
    });
    assert.deepEqual((await get(session, `/${id}`)).body, file);
    const { status, headers, bytes: content } = await download(session, id);
    assert.equal(status, 200);
    assert.ok(content.equals(bytes));
    assert.deepEqual(
      ["content-type", "content-length", "etag"].map((name) => headers.get(name)),
      ["image/png", String(bytes.length), `"${file.sha256}"`],
    );
  });

  test("are of no named type without a Content-Type, and may be empty and without a name", async () => {
    const session = await startSession(scene);
    const { url, credentials } = scene.server;
    const digest = digestOf(new Uint8Array());
    const answer = await fetch(`${url}/v1/sessions/${session.id}/files/${digest}`, {
      method: "PUT",
      headers: { authorization: `Bearer ${credentials.api_key}` },
    });
    const file: Json = await answer.json();
    assert.equal(answer.status, 201);
    assert.deepEqual([file.media_type, file.size_bytes, file.name], ["application/octet-stream", 0, null]);
    const { status, bytes } = await download(session, file.id);
    assert.deepEqual([status, bytes.length], [200, 0]);
  });

  test("are not run by a browser that opens one: attachments, in a sandbox, of the type that is said", async () => {
    const session = await startSession(scene);
    const page = Buffer.from("<script>alert(1)</script>");
    const file = await uploaded(session, page, { type: "text/html", query: { name: "a'b\"c.html" } });
    const { headers } = await download(session, file.id);
    assert.deepEqual(
      ["content-type", "x-content-type-options", "content-security-policy", "content-disposition"].map(
        (name) => headers.get(name),
      ),
      ["text/html", "nosniff", "default-src 'none'; sandbox", "attachment; filename*=UTF-8''a%27b%22c.html"],
    );
  });

  test("are the same file when they are uploaded again as they are", async () => {
    const session = await startSession(scene);
    const bytes = randomBytes(2_000);
    const extra = { type: "image/png", query: { name: "one.png" } };
    const file = await uploaded(session, bytes, extra);
    const again = await upload(session, bytes, extra);
    assert.deepEqual([again.status, again.body], [200, file]);
    const others = [
      await uploaded(session, bytes, { ...extra, query: { name: "two.png" } }),
      await uploaded(session, bytes, { type: "image/png" }),
      await uploaded(session, bytes, { type: "image/apng", query: { name: "one.png" } }),
    ];
    assert.equal((await upload(session, bytes, { type: "image/png" })).body.id, others[1].id);
    const ids = [file, ...others].map(({ id }) => id);
    assert.deepEqual(
      (await filesOf(session)).map(({ id }) => id),
      ids.toReversed(),
    );
    // Another session's is its own, of the same bytes.
    const elsewhere = await startSession(scene);
    assert.notEqual((await uploaded(elsewhere, bytes, extra)).id, file.id);
    assert.equal((await blobsOf(file.sha256)).length, 1);
  });

  test("are one file for all who upload the same at once", async () => {
    const session = await startSession(scene);
    const bytes = randomBytes(20_000);
    const answers = await Promise.all(Array.from({ length: 6 }, () => upload(session, bytes)));
    assert.deepEqual(answers.map(({ status }) => String(status)).toSorted(), [
      ...Array(5).fill("200"),
      "201",
    ]);
    assert.equal(new Set(answers.map(({ body }) => body.id)).size, 1);
  });

  test("are refused with another digest, and nothing of them is kept", async () => {
    const session = await startSession(scene);
    const bytes = randomBytes(5_000);
    const digest = digestOf(Buffer.from("other"));
    const wrong = await upload(session, bytes, { digest });
    assert.equal(codeOf(wrong), "400 invalid_request");
    assert.match(wrong.text, new RegExp(`has the digest ${digestOf(bytes)}, not ${digest}`));
    for (const none of [digestOf(bytes).toUpperCase(), "abc", `${digestOf(bytes)}0`])
      assert.equal(codeOf(await upload(session, bytes, { digest: none })), "400 invalid_request");
    assert.deepEqual(await filesOf(session), []);
    for (const one of [digest, digestOf(bytes)]) assert.deepEqual(await blobsOf(one), []);
  });

  test("have a media type and the name of a file", async () => {
    const session = await startSession(scene);
    const bytes = Buffer.from("typed");
    for (const type of ["image", "image/", "/png", "image/p ng", "a/b/c", "*/*", `image/${"x".repeat(64)}`]) {
      const refused = await upload(session, bytes, { type });
      assert.equal(codeOf(refused), "415 unsupported_media_type", type);
      assert.match(refused.text, /type\/subtype, such as|such as image\/png/);
    }
    for (const name of ["", "a/b", "..\\c", "a\nb", "\u0000", "x".repeat(LIMITS.fileNameCharacters + 1)])
      assert.equal(codeOf(await upload(session, bytes, { query: { name } })), "400 invalid_request", name);
    assert.deepEqual(await filesOf(session), []);
    for (const type of ["application/json", "text/plain;charset=utf-8", "application/vnd.api+json"])
      await uploaded(session, bytes, { type });
    const types = (await filesOf(session)).map(({ media_type }) => media_type);
    assert.deepEqual(types.toReversed(), ["application/json", "text/plain", "application/vnd.api+json"]);
  });

  test("can be 64 MiB, and no more", async () => {
    const session = await startSession(scene);
    const most = Buffer.alloc(LIMITS.sessionFileBytes, "k");
    assert.equal((await uploaded(session, most)).size_bytes, LIMITS.sessionFileBytes);
    const more = Buffer.concat([most, Buffer.from("k")]);
    const refused = await upload(session, more);
    assert.equal(codeOf(refused), "413 payload_too_large");
    assert.equal((await filesOf(session)).length, 1);
  });

  test("are read by their ranges, and not again by who has them", async () => {
    const session = await startSession(scene);
    const bytes = randomBytes(600_000);
    const { id, sha256 } = await uploaded(session, bytes);
    for (const [range, start, end] of [
      ["bytes=0-9", 0, 10],
      ["bytes=262140-262150", 262_140, 262_151],
      ["bytes=599990-", 599_990, 600_000],
      ["bytes=-5", 599_995, 600_000],
    ] as const) {
      const part = await download(session, id, { range });
      assert.equal(part.status, 206);
      assert.equal(part.headers.get("content-range"), `bytes ${start}-${end - 1}/600000`);
      assert.ok(part.bytes.equals(bytes.subarray(start, end)), range);
    }
    assert.equal((await download(session, id, { range: "bytes=600000-" })).status, 416);
    assert.equal((await download(session, id, { "if-none-match": `"${sha256}"` })).status, 304);
    assert.equal((await download(session, id, { range: "bytes=0-9", "if-range": '"other"' })).status, 200);
  });

  test("are listed by pages, newest first, and reached by the external id on both families", async () => {
    const session = await startSession(scene, { external_id: "ticket-18" });
    const ids: string[] = [];
    for (const text of ["a", "b", "c", "d", "e"])
      ids.unshift((await uploaded(session, Buffer.from(text), { place: "/v1" })).id);
    const first = await get(session, "?limit=3");
    assert.deepEqual(
      first.body.files.map(({ id }: Json) => id),
      ids.slice(0, 3),
    );
    const second = await get(session, `?limit=3&cursor=${first.body.next_cursor}`);
    assert.deepEqual(
      [second.body.files.map(({ id }: Json) => id), second.body.next_cursor],
      [ids.slice(3), null],
    );
    const other = await startSession(scene);
    assert.equal(codeOf(await get(other, `?cursor=${first.body.next_cursor}`)), "400 invalid_cursor");
    for (const place of ["/v1", "/api"]) {
      const named = (rest: string) =>
        scene.call("GET", `${place}/sessions/by-external-id/files${rest}?external_id=ticket-18`);
      assert.equal((await named("")).body.files.length, 5);
      assert.equal((await named(`/${ids[0]}`)).body.sha256, digestOf(Buffer.from("e")));
      assert.equal((await named(`/${ids[0]}/content`)).text, "e");
    }
    const path = `/v1/sessions/by-external-id/files/${digestOf(Buffer.from("f"))}?external_id=ticket-18&name=f.txt`;
    const named = await scene.call("PUT", path, { bytes: Buffer.from("f") });
    assert.deepEqual([named.status, named.body.session_id, named.body.name], [201, session.id, "f.txt"]);
  });

  test("are read and no longer added when the session has ended", async () => {
    const session = await startSession(scene);
    const bytes = Buffer.from("last");
    const { id } = await uploaded(session, bytes);
    await scene.call("POST", `/api/sessions/${session.id}/close`);
    const refused = await upload(session, Buffer.from("later"));
    assert.equal(codeOf(refused), "409 session_closed");
    assert.deepEqual(refused.body.error.details, { status: "closed" });
    const again = await upload(session, bytes);
    assert.deepEqual([again.status, again.body.id], [200, id], "a repeat adds nothing");
    const wrong = await upload(session, Buffer.from("wrong"), { digest: digestOf(bytes) });
    assert.equal(codeOf(wrong), "400 invalid_request");
    assert.equal((await download(session, id)).bytes.toString(), "last");
    assert.equal((await filesOf(session)).length, 1);
  });

  test("are nobody's where there is no such session, or it is another environment's", async () => {
    const session = await startSession(scene);
    const bytes = Buffer.from("ours");
    const { id } = await uploaded(session, bytes);
    const other = await startSession(scene);
    const unknown = { id: `${session.id.slice(0, -3)}zzz` };
    const foreign = await addForeignPlace(scene.server);
    const as = await addApiKey(scene.server, PERMISSIONS, { environmentId: foreign.environmentId });
    const tries = [
      () => get(unknown, ""),
      () => get(unknown, `/${id}`),
      () => get(other, `/${id}`),
      () => get(other, `/${id}/content`),
      () => get(session, "/file_1"),
      () => upload(unknown, bytes),
      () => upload(session, bytes, { as }),
      () => scene.call("GET", `/api/sessions/${session.id}/files/${id}`, { as }),
      () => scene.call("GET", `/api/sessions/${session.id}/files/${id}/content`, { as }),
    ];
    for (const attempt of tries) assert.equal(codeOf(await attempt()), "404 not_found");
    const reader = await addApiKey(scene.server, ["sessions.read"]);
    assert.equal(codeOf(await upload(session, bytes, { as: reader })), "403 forbidden");
    const writer = await addApiKey(scene.server, ["sessions.write"]);
    assert.equal((await upload(session, bytes, { as: writer })).status, 200);
    const read = await scene.call("GET", `/api/sessions/${session.id}/files/${id}/content`, { as: writer });
    assert.equal(codeOf(read), "403 forbidden");
  });

  test("go with a session that a server of an earlier release drops", async () => {
    const session = await startSession(scene);
    await uploaded(session, Buffer.from("kept"));
    const id = decodeId("sess", session.id);
    await scene.server.db.query(sql`DELETE FROM sessions WHERE id = ${id}`);
    assert.deepEqual(
      await scene.server.db.query(sql`SELECT FROM session_files WHERE session_id = ${id}`),
      [],
    );
  });
});
