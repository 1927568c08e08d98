// The state of a session: one value, which callers compare and set by its version.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { decodeId, LIMITS, PERMISSIONS } from "@keelson/contract";
import { sql } from "../../../src/db/sql.ts";
import type { Answer } from "../../support/api-server.ts";
import { addApiKey, addForeignPlace } from "../../support/tenancy.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import { cancelSessions, startSession } from "../../support/session-scene.ts";

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [], actors: [{ id: "chat" }] });
});
after(() => scene.stop());
afterEach(() => cancelSessions(scene));

const pathOf = (session: Json): string => `/api/sessions/${session.id}/state`;
const get = (session: Json): Promise<Answer> => scene.call("GET", pathOf(session));
const set = (session: Json, body: object): Promise<Answer> => scene.call("PUT", pathOf(session), { body });
const versionOf = async (session: Json): Promise<[unknown, number]> => {
  const { body } = await get(session);
  return [body.state, body.version];
};
const codeOf = ({ status, body }: Answer): string =>
  `${status} ${status < 400 ? "" : body.error.code}`.trim();

describe("the state of a session", () => {
  test("is null with version 0 until it is set, and then what was set last", async () => {
    const session = await startSession(scene);
    const empty = await get(session);
    assert.equal(empty.status, 200);
    const nobody = { updated_at: null, source: null, run_id: null, attempt_number: null };
    assert.deepEqual(empty.body, { session_id: session.id, state: null, version: 0, ...nobody });
    const first = await set(session, { state: { topic: "delivery", list: [1, null] } });
    assert.equal(first.status, 200, first.text);
    assert.deepEqual(first.body, (await get(session)).body);
    const { state, version, source, run_id } = first.body;
    assert.deepEqual([state, version, run_id], [{ topic: "delivery", list: [1, null] }, 1, null]);
    assert.deepEqual([source.kind, source.id.startsWith("key_")], ["api", true]);
    assert.equal(new Date(first.body.updated_at).getTime() > 0, true);
    for (const value of [null, "text", 0, [], {}]) await set(session, { state: value });
    assert.deepEqual(await versionOf(session), [{}, 6]);
  });

  test("is reached by the external id, on both families", async () => {
    const session = await startSession(scene, { external_id: "ticket-17" });
    const path = "/sessions/by-external-id/state?external_id=ticket-17";
    const done = await scene.call("PUT", `/v1${path}`, { body: { state: 1, if_version: 0 } });
    assert.deepEqual([done.status, done.body.session_id], [200, session.id]);
    for (const place of ["/v1", "/api"])
      assert.deepEqual((await scene.call("GET", place + path)).body, done.body);
  });

  test("is compared by its version, and another one is refused with the present one", async () => {
    const session = await startSession(scene);
    const early = await set(session, { state: 1, if_version: 3 });
    assert.equal(codeOf(early), "409 state_conflict");
    assert.deepEqual(early.body.error.details, { version: 0 });
    assert.equal((await set(session, { state: "a", if_version: 0 })).body.version, 1);
    const late = await set(session, { state: "b", if_version: 0 });
    assert.equal(codeOf(late), "409 state_conflict");
    assert.deepEqual(late.body.error.details, { version: 1 });
    assert.match(late.body.error.message, /has version 1, not version 0/);
    assert.equal((await set(session, { state: "b", if_version: 1 })).body.version, 2);
    assert.deepEqual(await versionOf(session), ["b", 2]);
  });

  test("is set by exactly one of those who compare the same version at once", async () => {
    const session = await startSession(scene);
    for (const version of [0, 1]) {
      const states = Array.from({ length: 8 }, (_, n) => n);
      const answers = await Promise.all(states.map((state) => set(session, { state, if_version: version })));
      const won = answers.filter(({ status }) => status === 200);
      assert.equal(won.length, 1, answers.map(codeOf).join());
      assert.equal(answers.filter((one) => codeOf(one) === "409 state_conflict").length, 7);
      assert.deepEqual(await versionOf(session), [won[0]?.body.state, version + 1]);
    }
  });

  test("is set once by a request that is repeated with its key", async () => {
    const session = await startSession(scene);
    const body = { state: { n: 1 }, if_version: 0, idempotency_key: "first" };
    const first = await set(session, body);
    assert.equal(first.status, 200, first.text);
    await set(session, { state: { n: 2 } });
    const again = await set(session, body);
    assert.deepEqual([again.status, again.body], [200, first.body]);
    assert.equal(again.headers.get("idempotency-replayed"), "true");
    assert.deepEqual(await versionOf(session), [{ n: 2 }, 2]);
    assert.equal(codeOf(await set(session, { ...body, state: 3 })), "409 idempotency_conflict");
    // Another session's keys are its own.
    const other = await startSession(scene);
    assert.equal((await set(other, body)).body.session_id, other.id);
  });

  test("can be 256 KiB of JSON, and no more", async () => {
    const session = await startSession(scene);
    const most = "x".repeat(LIMITS.sessionStateBytes - 2);
    assert.equal((await set(session, { state: most })).status, 200);
    const more = await set(session, { state: `${most}x` });
    assert.equal(codeOf(more), "413 payload_too_large");
    assert.match(more.body.error.message, new RegExp(`${LIMITS.sessionStateBytes} bytes of JSON`));
    assert.deepEqual((await get(session)).body.version, 1);
    for (const body of [{}, { state: 1, if_version: -1 }, { state: 1, version: 1 }])
      assert.equal(codeOf(await set(session, body)), "400 invalid_request");
  });

  test("is read and no longer set when the session has ended", async () => {
    const session = await startSession(scene);
    await set(session, { state: "last" });
    await scene.call("POST", `/api/sessions/${session.id}/close`);
    const late = await set(session, { state: "later" });
    assert.equal(codeOf(late), "409 session_closed");
    assert.deepEqual(late.body.error.details, { status: "closed" });
    assert.deepEqual(await versionOf(session), ["last", 1]);
  });

  test("is nobody's where there is no such session, or it is another environment's", async () => {
    const session = await startSession(scene);
    await set(session, { state: "ours" });
    const unknown = { id: `${session.id.slice(0, -3)}zzz` };
    const foreign = await addForeignPlace(scene.server);
    const as = await addApiKey(scene.server, PERMISSIONS, { environmentId: foreign.environmentId });
    const tries = [
      () => get(unknown),
      () => set(unknown, { state: 1 }),
      () => scene.call("GET", pathOf(session), { as }),
      () => scene.call("PUT", pathOf(session), { as, body: { state: "theirs" } }),
    ];
    for (const attempt of tries) assert.equal(codeOf(await attempt()), "404 not_found");
    assert.deepEqual(await versionOf(session), ["ours", 1]);
    const reader = await addApiKey(scene.server, ["sessions.read"]);
    assert.equal((await scene.call("GET", pathOf(session), { as: reader })).status, 200);
    const refused = await scene.call("PUT", pathOf(session), { as: reader, body: { state: 1 } });
    assert.equal(codeOf(refused), "403 forbidden");
  });

  test("goes with its session", async () => {
    const session = await startSession(scene);
    await set(session, { state: "kept" });
    const id = decodeId("sess", session.id);
    // As a server of an earlier release drops sessions.
    await scene.server.db.query(sql`DELETE FROM sessions WHERE id = ${id}`);
    assert.deepEqual(
      await scene.server.db.query(sql`SELECT FROM session_states WHERE session_id = ${id}`),
      [],
    );
  });
});
