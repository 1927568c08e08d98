// Interrupts of messages: the code is told, what it does not end is ended without it, and nothing else is touched.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { newMessageId } from "../../../../sdk/src/client/random.ts";
import { outlastLeases, passHeard } from "../../support/outlast-leases.ts";
import type { HeldLease } from "../../support/raw-worker.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import { cancelSessions, send, sessionKnows, startSession } from "../../support/session-scene.ts";
import { until } from "../../support/until.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [], actors: [{ id: "chat" }] });
});
after(() => scene.stop());
afterEach(() => cancelSessions(scene));

async function begun(body: object = {}): Promise<{ session: Json; lease: HeldLease }> {
  const session = await startSession(scene, { input: "hi", ...body });
  const lease = await scene.worker.takeOne();
  assert.deepEqual(await scene.worker.report(lease.operation("start")), [200]);
  return { session, lease };
}

type Fields = { begins?: true; ends?: string; call?: string };
const write = (lease: HeldLease, id: string, pieces: unknown[], fields: Fields = {}): Json =>
  lease.operation("outputs", {
    ...{ position: null, stream: "output", message: { id, ...fields } },
    records: pieces.map((data) => ({ data })),
  });

/** A message of a run, with its first piece. */
async function writing(body: object = {}, fields: Fields = {}) {
  const { session, lease } = await begun(body);
  const id = newMessageId();
  assert.deepEqual(await scene.worker.report(write(lease, id, ["half"], { begins: true, ...fields })), [200]);
  return { session, lease, id };
}

async function interrupt(session: Json, id: string): Promise<string> {
  const { status, body, text } = await scene.call("POST", `/v1/sessions/${session.id}/interrupt`, {
    body: { message_id: id },
  });
  assert.equal(status, 200, text);
  assert.equal(body.message_id, id);
  return body.status;
}

const messagesOf = async (session: Json): Promise<Json[]> =>
  (await scene.call("GET", `/v1/sessions/${session.id}/messages`)).body.messages;

async function said(session: Json): Promise<string[]> {
  const { body } = await scene.call("GET", `/v1/sessions/${session.id}/outputs/read?stream=output`);
  return body.records.map(({ data }: Json) => (data.event === "ended" ? data.status : data));
}

const told = ({ execution }: HeldLease, id: string): object => ({
  ...{ run_id: execution.run.id, lease_id: execution.lease_id, epoch: execution.epoch, message_id: id },
});

/** Passes the time that code has to end what was interrupted. */
async function outlastGrace(session: Json): Promise<void> {
  await passHeard(scene, 11_000);
  await until("the message is ended without its code", 60_000, async () =>
    (await messagesOf(session)).every(({ status }) => status !== "open"),
  );
}

describe("interrupting a message", () => {
  test("tells the worker at once, and again until it has ended", async () => {
    const { session, lease, id } = await writing();
    const polled = scene.worker.lease({ wait: "30s" });
    assert.equal(await interrupt(session, id), "interrupting");
    assert.deepEqual((await polled).interrupts, [told(lease, id)]);
    assert.equal(await interrupt(session, id), "interrupting");
    const [open] = await messagesOf(session);
    assert.equal(open.status, "open");
    assert.notEqual(open.interrupt_requested_at, null);
    assert.deepEqual((await scene.worker.renew(lease)).interrupts, [told(lease, id)]);
    const ending = write(lease, id, ["way"], { ends: "interrupted" });
    assert.deepEqual(await scene.worker.report(ending), [200]);
    assert.deepEqual((await scene.worker.renew(lease)).interrupts, []);
    assert.equal(await interrupt(session, id), "ended");
    const [ended] = await messagesOf(session);
    assert.deepEqual([ended.status, ended.data], ["interrupted", "halfway"]);
    assert.deepEqual(await said(session), ["half", "way", "interrupted"]);
  });

  test("that has ended changes nothing, and stops no later one", async () => {
    const { session, lease, id } = await writing();
    const next = newMessageId();
    await scene.worker.report(
      write(lease, id, [], { ends: "complete" }),
      write(lease, next, ["next"], { begins: true }),
    );
    assert.equal(await interrupt(session, id), "ended");
    assert.deepEqual((await scene.worker.renew(lease)).interrupts, []);
    assert.deepEqual(
      new Map((await messagesOf(session)).map((one) => [one.id, [one.status, one.interrupt_requested_at]])),
      new Map([
        [id, ["complete", null]],
        [next, ["open", null]],
      ]),
    );
  });

  test("when its run has ended starts no run", async () => {
    const { session, lease, id } = await writing();
    await scene.worker.report(lease.operation("release", { outcome: "succeeded" }));
    await sessionKnows(scene, lease.runId);
    assert.equal(await interrupt(session, id), "ended");
    const { body } = await scene.call("GET", `/v1/sessions/${session.id}`);
    assert.deepEqual([body.status, body.activity], ["open", "idle"]);
  });

  test("of another session, or that there is not, is 404", async () => {
    const { id } = await writing();
    const other = await startSession(scene, {});
    for (const messageId of [id, newMessageId(), "msg_nothing"]) {
      const { status, body } = await scene.call("POST", `/v1/sessions/${other.id}/interrupt`, {
        body: { message_id: messageId },
      });
      assert.ok(status === 404 || (messageId === "msg_nothing" && status === 400), JSON.stringify(body));
    }
  });
});

describe("a message whose code does not end it", () => {
  test("is ended after ten seconds, and nothing of it is taken any more", async () => {
    const { session, lease, id } = await writing();
    await interrupt(session, id);
    await outlastGrace(session);
    const [late, after, aside] = await scene.worker.results(
      write(lease, id, ["late"]),
      write(lease, id, ["last"], { ends: "complete" }),
      lease.operation("outputs", { position: null, stream: "output", records: [{ data: "aside" }] }),
    );
    assert.deepEqual([late.status, late.result], [200, { value: { ended: true }, error: null }]);
    assert.deepEqual([after.status, after.result], [200, { value: { ended: true }, error: null }]);
    assert.deepEqual([aside.status, aside.result ?? null], [200, null]);
    assert.deepEqual(await said(session), ["half", "interrupted", "aside"]);
    const [message] = await messagesOf(session);
    assert.deepEqual([message.status, message.data], ["interrupted", "half"]);
  });

  test("leaves the stream to other messages", async () => {
    const { session, lease, id } = await writing();
    const [beside, next] = [newMessageId(), newMessageId()];
    await scene.worker.report(write(lease, beside, ["b1"], { begins: true }));
    await interrupt(session, id);
    await passHeard(scene, 11_000);
    await until("the message is ended without its code", 60_000, async () =>
      (await messagesOf(session)).some(({ status }) => status === "interrupted"),
    );
    assert.deepEqual(
      await scene.worker.report(
        write(lease, beside, ["b2"], { ends: "complete" }),
        write(lease, next, ["n1"], { begins: true }),
        write(lease, next, ["n2"]),
        write(lease, next, [], { ends: "complete" }),
      ),
      [200, 200, 200, 200],
    );
    assert.deepEqual(await said(session), [
      ...["half", "b1", "interrupted", "b2", "complete", "n1", "n2", "complete"],
    ]);
  });

  test("ends as interrupted with its run, whatever ends that", async () => {
    const { session, lease, id } = await writing();
    await interrupt(session, id);
    await scene.worker.report(lease.operation("release", { outcome: "succeeded" }));
    await sessionKnows(scene, lease.runId);
    assert.deepEqual(await said(session), ["half", "interrupted"]);
    assert.deepEqual(
      (await messagesOf(session)).map(({ id: one, status }) => [one, status]),
      [[id, "interrupted"]],
    );
  });
});

describe("a message whose worker was lost", () => {
  test("ends at once, and the next attempt begins no other in its place", async () => {
    const { session, lease, id } = await writing({ retry: { max_attempts: 3 } }, { call: "answer:1" });
    await outlastLeases(scene);
    await scene.happens(lease.runId, "lease.lost");
    assert.equal(await interrupt(session, id), "ended");
    assert.deepEqual(await said(session), ["half", "interrupted"]);
    const next = await scene.worker.takeOne();
    assert.equal(next.runId, lease.runId);
    const [again, other] = [newMessageId(), newMessageId()];
    const results = await scene.worker.results(
      next.operation("start"),
      write(next, again, ["again"], { begins: true, call: "answer:1" }),
      write(next, again, ["and again"]),
      write(next, again, [], { ends: "complete" }),
      write(next, other, ["whole"], { begins: true, call: "answer:2" }),
    );
    const refused = { value: { ended: true }, error: null };
    assert.deepEqual(
      results.map(({ status, result }) => [status, result ?? null]),
      [
        [200, null],
        [200, refused],
        [200, refused],
        [200, refused],
        [200, null],
      ],
    );
    assert.deepEqual(await said(session), ["half", "interrupted", "whole"]);
  });

  test("tells a repeat what the first report was told, also before it was ended", async () => {
    const { session, lease, id } = await writing({ retry: { max_attempts: 3 } }, { call: "answer:1" });
    assert.equal(await interrupt(session, id), "interrupting");
    await outlastLeases(scene);
    await scene.happens(lease.runId, "lease.lost");
    const next = await scene.worker.takeOne();
    const again = newMessageId();
    const report = [
      next.operation("start"),
      write(next, again, ["again"], { begins: true, call: "answer:1" }),
      write(next, again, ["and again"]),
    ];
    const refused = { value: { ended: true }, error: null };
    for (let time = 1; time <= 2; time += 1)
      assert.deepEqual(
        (await scene.worker.results(...report)).map(({ status, result }) => [status, result ?? null]),
        [
          [200, null],
          [200, refused],
          [200, refused],
        ],
      );
    const other = newMessageId();
    const whole = write(next, other, ["whole"], { begins: true, ends: "complete", call: "answer:2" });
    for (let time = 1; time <= 2; time += 1)
      assert.deepEqual((await scene.worker.results(whole))[0].result ?? null, null);
    assert.deepEqual(await said(session), ["half", "interrupted", "whole", "complete"]);
  });

  test("ends as interrupted when its next attempt begins another", async () => {
    const { session, lease, id } = await writing({ retry: { max_attempts: 3 } });
    await interrupt(session, id);
    await outlastLeases(scene);
    await scene.happens(lease.runId, "lease.lost");
    const next = await scene.worker.takeOne();
    await scene.worker.report(
      next.operation("start"),
      write(next, newMessageId(), ["whole"], { begins: true }),
    );
    assert.equal((await said(session))[1], "interrupted");
  });
});

test("an input that comes beside an interrupt is kept for the next turn", async () => {
  const { session, lease, id } = await writing();
  assert.equal((await send(scene, session, "next question")).status, 201);
  assert.equal(await interrupt(session, id), "interrupting");
  await scene.worker.report(
    write(lease, id, [], { ends: "interrupted" }),
    lease.operation("release", { outcome: "succeeded" }),
  );
  await sessionKnows(scene, lease.runId);
  const next = await scene.worker.takeOne();
  assert.equal(next.execution.run.session_id, session.id);
});

describe("input that interrupts", () => {
  const interrupting = { while_busy: "interrupt" };

  test("stops all that the turn is writing, and is received next", async () => {
    const { session, lease, id } = await writing();
    const other = newMessageId();
    await scene.worker.report(
      lease.operation("outputs", {
        ...{ position: null, stream: "thoughts", message: { id: other, begins: true } },
        records: [{ data: "hm" }],
      }),
    );
    const sent = await send(scene, session, "no, this", interrupting);
    assert.deepEqual([sent.status, sent.body.disposition], [201, "queued"]);
    const { interrupts } = await scene.worker.renew(lease);
    assert.deepEqual(new Set(interrupts.map(({ message_id }: Json) => message_id)), new Set([id, other]));
    const wait = { position: 1, name: "input", kind: "input", stream: "input" };
    const [, , waited] = await scene.worker.results(
      write(lease, id, [], { ends: "interrupted" }),
      write(lease, other, [], { ends: "interrupted" }),
      lease.operation("waits", { waits: [wait], parked: true }),
    );
    assert.equal(waited.result.waits[0].value.data, "hi");
  });

  test("stops nothing that has ended, and starts a turn as any other", async () => {
    const { session, lease, id } = await writing();
    await scene.worker.report(
      write(lease, id, [], { ends: "complete" }),
      lease.operation("release", { outcome: "succeeded" }),
    );
    await sessionKnows(scene, lease.runId);
    const sent = await send(scene, session, "more", interrupting);
    assert.deepEqual([sent.status, sent.body.disposition], [201, "started"]);
    assert.deepEqual(
      (await messagesOf(session)).map(({ status, interrupt_requested_at: at }) => [status, at]),
      [["complete", null]],
    );
  });

  test("stops once: a repeat with the same key, which comes late, stops nothing", async () => {
    const { session, lease, id } = await writing();
    const body = { ...interrupting, idempotency_key: "once" };
    assert.equal((await send(scene, session, "no", body)).status, 201);
    const next = newMessageId();
    await scene.worker.report(
      write(lease, id, [], { ends: "interrupted" }),
      write(lease, next, ["next"], { begins: true }),
    );
    assert.equal((await send(scene, session, "no", body)).status, 201);
    assert.deepEqual((await scene.worker.renew(lease)).interrupts, []);
  });
});
