// What a browser does to messages with a public access token, and with one for a whole conversation.

import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { after, afterEach, before, describe, test } from "node:test";
import { newMessageId } from "../../../../sdk/src/client/random.ts";
import { sql } from "../../../src/db/sql.ts";
import type { Answer } from "../../support/api-server.ts";
import type { HeldLease } from "../../support/raw-worker.ts";
import { readEvents } from "../../support/read-events.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import { cancelSessions, startSession } from "../../support/session-scene.ts";
import { addApiKey } from "../../support/tenancy.ts";

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

let scene: RunScene;
before(async () => {
  scene = await startRunScene({
    tasks: [],
    actors: [{ id: "chat" }, { id: "impatient", while_busy: "interrupt" }],
  });
});
after(() => scene.stop());
afterEach(() => cancelSessions(scene));

const ORIGIN = { origin: "https://elsewhere.example" };
const codeOf = ({ status, body }: Answer): string => (status < 400 ? String(status) : body.error.code);

type Scope = {
  type: string;
  stream?: string;
  inputs?: string[];
  outputs?: string[];
  correlation_id?: string;
};

const create = (session: Json, scope: Scope, extra: object = {}): Promise<Answer> =>
  scene.call("POST", "/api/public-access-tokens", {
    body: { scope: { session: { type: "id", id: session.id }, ...scope }, ...extra },
  });

async function mint(session: Json, scope: Scope, extra: object = {}): Promise<string> {
  const answer = await create(session, scope, extra);
  assert.equal(answer.status, 201, answer.text);
  return answer.body.public_access_token;
}

async function usesOf(token: string): Promise<number | undefined> {
  const [row] = await scene.server.db.query<{ uses: number }>(
    sql`SELECT uses FROM public_access_tokens WHERE digest = ${hash("sha256", token, "buffer")}`,
  );
  return row?.uses;
}

const messages = (as: string, session: Json, query = ""): Promise<Answer> =>
  scene.call("GET", `/api/v1/sessions/${session.id}/messages${query}`, { as, headers: ORIGIN });
const interrupt = (as: string, session: Json, message_id: string): Promise<Answer> =>
  scene.call("POST", `/api/v1/sessions/${session.id}/interrupt`, {
    as,
    headers: ORIGIN,
    body: { message_id },
  });
const sendTo = (as: string, session: Json, stream: string, body: object = {}): Promise<Answer> =>
  scene.call("POST", `/api/v1/sessions/${session.id}/inputs/${stream}`, {
    ...{ as, headers: ORIGIN },
    body: { data: 1, ...body },
  });
const readFrom = (as: string, session: Json, stream: string): Promise<Answer> =>
  scene.call("GET", `/api/v1/sessions/${session.id}/outputs/${stream}/read?wait=0s`, { as, headers: ORIGIN });

/** A session whose run is writing a message to each of these streams. */
async function writing(streams: readonly string[], correlationId: string | null = null, actor = "chat") {
  const session = await startSession(scene, { actor, input: "hi" });
  const lease: HeldLease = await scene.worker.takeOne();
  const written = streams.map((stream) => ({ stream, id: newMessageId() }));
  const operations = written.map(({ stream, id }) =>
    lease.operation("outputs", {
      ...{ position: null, stream, message: { id, begins: true } },
      records: [{ data: "half", ...(correlationId !== null && { correlation_id: correlationId }) }],
    }),
  );
  await scene.worker.report(lease.operation("start"), ...operations);
  const ids = new Map(written.map(({ stream, id }) => [stream, id]));
  return { session, lease, idOf: (stream: string): string => ids.get(stream) as string };
}

/** What the worker is told to end of this lease: it holds those of other tests, too. */
async function told(lease: HeldLease): Promise<string[]> {
  const { interrupts } = await scene.worker.renew(lease);
  return interrupts.flatMap((one: Json) => (one.lease_id === lease.fields.lease_id ? [one.message_id] : []));
}

const seen = ({ body }: Answer): string[] => body.messages.map(({ stream }: Json) => stream).toSorted();

describe("a token for a conversation", () => {
  test("sends, reads, lists and interrupts in its streams alone", async () => {
    const { session, lease, idOf } = await writing(["output", "answer", "secrets"]);
    const as = await mint(session, {
      ...{ type: "session.chat", inputs: ["input", "edits"], outputs: ["output", "answer"] },
    });
    assert.deepEqual(
      [
        codeOf(await sendTo(as, session, "input")),
        codeOf(await sendTo(as, session, "edits")),
        codeOf(await sendTo(as, session, "orders")),
        codeOf(await sendTo(as, session, "output")),
        codeOf(await readFrom(as, session, "answer")),
        codeOf(await readFrom(as, session, "secrets")),
        codeOf(await readFrom(as, session, "input")),
        codeOf(await messages(as, session, "?stream=secrets")),
      ],
      [
        "201",
        "201",
        "scope_mismatch",
        "scope_mismatch",
        "200",
        "scope_mismatch",
        "scope_mismatch",
        "scope_mismatch",
      ],
    );
    const both = `/api/v1/sessions/${session.id}/outputs/output,answer/read?follow=1`;
    const followed = await readEvents(scene.server, both, {
      as,
      until: ({ id }) => id === "output:1,answer:1",
    });
    assert.deepEqual(new Set(followed.map(({ data }) => data.stream)), new Set(["answer", "output"]));
    assert.equal(codeOf(await readFrom(as, session, "output,secrets")), "scope_mismatch");
    assert.equal(codeOf(await readFrom(as, session, "output,output")), "invalid_request");
    const listed = await messages(as, session);
    assert.deepEqual(seen(listed), ["answer", "output"]);
    assert.equal(listed.headers.get("access-control-allow-origin"), "*");
    assert.deepEqual(seen(await messages(as, session, "?stream=answer&status=open")), ["answer"]);
    assert.equal(codeOf(await interrupt(as, session, idOf("secrets"))), "scope_mismatch");
    assert.equal(codeOf(await interrupt(as, session, newMessageId())), "scope_mismatch");
    const stopped = await interrupt(as, session, idOf("answer"));
    assert.deepEqual(stopped.body, { message_id: idOf("answer"), status: "interrupting" });
    assert.deepEqual(await told(lease), [idOf("answer")]);
  });

  test("has the default streams, which are made for it", async () => {
    const session = await startSession(scene, {});
    const as = await mint(session, { type: "session.chat" });
    assert.deepEqual(
      [codeOf(await sendTo(as, session, "input")), codeOf(await readFrom(as, session, "output"))],
      ["201", "200"],
    );
    assert.deepEqual((await messages(as, session)).body, { messages: [], next_cursor: null });
  });

  test("is for no other session, and for one correlation id alone where it says so", async () => {
    const one = await writing(["output"], "q1");
    const other = await writing(["output"], "q2");
    const as = await mint(one.session, { type: "session.chat", correlation_id: "q1" });
    assert.deepEqual(seen(await messages(as, one.session)), ["output"]);
    assert.equal(codeOf(await messages(as, other.session)), "scope_mismatch");
    assert.equal(codeOf(await interrupt(as, other.session, other.idOf("output"))), "scope_mismatch");
    assert.equal(codeOf(await interrupt(as, one.session, other.idOf("output"))), "scope_mismatch");
    const elsewhere = await mint(one.session, { type: "session.chat", correlation_id: "q2" });
    assert.deepEqual((await messages(elsewhere, one.session)).body.messages, []);
    assert.equal(codeOf(await interrupt(elsewhere, one.session, one.idOf("output"))), "scope_mismatch");
    assert.equal(codeOf(await interrupt(as, one.session, one.idOf("output"))), "200");
  });

  test("stops what is written in its streams, with an input, where it may interrupt", async () => {
    const { session, lease, idOf } = await writing(["output", "secrets"]);
    const sendOnly = await mint(session, { type: "session.input.send", stream: "input" });
    const refused = await sendTo(sendOnly, session, "input", { while_busy: "interrupt" });
    assert.equal(codeOf(refused), "scope_mismatch");
    for (const extra of [{}, { max_uses: 1 }]) {
      const as = await mint(session, { type: "session.chat" }, extra);
      assert.equal(codeOf(await sendTo(as, session, "input", { while_busy: "interrupt" })), "201");
      assert.deepEqual(await told(lease), [idOf("output")]);
    }
  });

  test("stops all that is written by sending where the actor declares that, also without the permission to interrupt", async () => {
    const { session, lease, idOf } = await writing(["output", "secrets"], null, "impatient");
    const sendOnly = await mint(session, { type: "session.input.send", stream: "input" });
    const queued = await sendTo(sendOnly, session, "input", { while_busy: "enqueue" });
    assert.deepEqual([codeOf(queued), queued.body.disposition, await told(lease)], ["201", "queued", []]);
    assert.equal(codeOf(await sendTo(sendOnly, session, "input")), "201");
    assert.deepEqual((await told(lease)).toSorted(), [idOf("output"), idOf("secrets")].toSorted());
  });

  test("counts its uses: a refused request is none", async () => {
    const { session, idOf } = await writing(["output"]);
    const as = await mint(session, { type: "session.chat" }, { max_uses: 3 });
    assert.equal(codeOf(await interrupt(as, session, newMessageId())), "scope_mismatch");
    assert.equal(await usesOf(as), 0);
    await interrupt(as, session, idOf("output"));
    await messages(as, session);
    assert.equal(await usesOf(as), 2);
    await sendTo(as, session, "input");
    const answers = [await messages(as, session), await interrupt(as, session, idOf("output"))];
    assert.deepEqual(answers.map(codeOf), ["unauthenticated", "unauthenticated"]);
    assert.equal(await usesOf(as), 3);
  });
});

describe("a token for one permission", () => {
  test("lists messages, or interrupts them, in its stream alone", async () => {
    const { session, idOf } = await writing(["output", "answer"]);
    const list = await mint(session, { type: "session.messages.read", stream: "answer" });
    const stop = await mint(session, { type: "session.interrupt", stream: "answer" });
    assert.deepEqual(seen(await messages(list, session)), ["answer"]);
    assert.deepEqual(
      [
        codeOf(await messages(stop, session)),
        codeOf(await interrupt(list, session, idOf("answer"))),
        codeOf(await readFrom(list, session, "answer")),
        codeOf(await interrupt(stop, session, idOf("output"))),
        codeOf(await interrupt(stop, session, idOf("answer"))),
      ],
      ["scope_mismatch", "scope_mismatch", "scope_mismatch", "scope_mismatch", "200"],
    );
  });
});

describe("creating such a token", () => {
  test("is refused when its streams do not fit its type", async () => {
    const session = await startSession(scene, {});
    for (const [scope, path] of [
      [{ type: "session.chat", stream: "output" }, "scope.stream"],
      [{ type: "session.interrupt" }, "scope.stream"],
      [{ type: "session.interrupt", stream: "output", outputs: ["output"] }, "scope"],
      [{ type: "session.chat", inputs: [] }, "scope.inputs"],
      [{ type: "session.chat", outputs: ["a", "a"] }, "scope.outputs"],
      [{ type: "session.all", stream: "output" }, "scope.type"],
    ] as const) {
      const answer = await create(session, scope as Scope);
      assert.equal(answer.status, 400, answer.text);
      assert.equal(answer.body.error.details.issues[0].path, path, answer.text);
    }
    const mismatch = await create(session, { type: "session.chat", inputs: ["both"], outputs: ["both"] });
    assert.equal(codeOf(mismatch), "stream_direction_mismatch");
  });

  test("gives no more than its maker has", async () => {
    const session = await startSession(scene, {});
    const scope = { session: { type: "id", id: session.id }, type: "session.chat" };
    for (const lacked of ["sessions.read", "sessions.write"]) {
      const held = ["public_access_tokens.create", "sessions.read", "sessions.write"].filter(
        (one) => one !== lacked,
      );
      const as = await addApiKey(scene.server, held);
      const answer = await scene.call("POST", "/api/public-access-tokens", { as, body: { scope } });
      assert.deepEqual([answer.status, answer.body.error.details], [403, { permission: lacked }]);
    }
  });
});
