// What happens to input that comes while an actor is busy: its sender says it, and otherwise the actor declares it.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { decodeId, WHILE_BUSY, type WhileBusy } from "@keelson/contract";
import { newMessageId } from "../../../../sdk/src/client/random.ts";
import type { Answer } from "../../support/api-server.ts";
import type { HeldLease } from "../../support/raw-worker.ts";
import { recordQueries } from "../../support/record-queries.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import {
  cancelSessions,
  endTurn,
  getSession,
  holdSession,
  records,
  send,
  sessionKnows,
  startSession,
} from "../../support/session-scene.ts";

const DECLARED = [undefined, ...WHILE_BUSY] as const;
type Said = WhileBusy | undefined;

const actorOf = (declared: Said): string => `declares-${declared ?? "nothing"}`;
const declaring = (of: (declared: Said) => Said) =>
  DECLARED.map((declared) => {
    const said = of(declared);
    return { id: actorOf(declared), ...(said !== undefined && { while_busy: said }) };
  });
const MANIFEST = { tasks: [{ id: "plain" }], actors: declaring((declared) => declared) };

let scene: RunScene;
before(async () => {
  scene = await startRunScene(MANIFEST);
});
after(() => scene.stop());
afterEach(() => cancelSessions(scene));

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;
type Live = { session: Json; lease: HeldLease };

async function begin(session: Json): Promise<Live> {
  const lease = await scene.worker.takeOne();
  assert.equal(lease.execution.run.session_id, session.id);
  assert.deepEqual(await scene.worker.report(lease.operation("start")), [200]);
  return { session, lease };
}

const live = async (declared: Said, body: object = {}): Promise<Live> =>
  begin(await startSession(scene, { actor: actorOf(declared), ...body }));

async function write(lease: HeldLease): Promise<string> {
  const id = newMessageId();
  const message = { position: null, stream: "output", message: { id, begins: true } };
  const operation = lease.operation("outputs", { ...message, records: [{ data: "half" }] });
  assert.deepEqual(await scene.worker.report(operation), [200]);
  return id;
}

async function waitForInput({ lease }: Live, position = 1): Promise<Json> {
  const wait = { position, name: "input", kind: "input", stream: "input" };
  const [result] = await scene.worker.results(lease.operation("waits", { waits: [wait], parked: true }));
  assert.equal(result.status, 200, JSON.stringify(result));
  return result.result.waits.map(({ value }: Json) => value);
}

const toldTo = async ({ lease }: Live): Promise<string[]> =>
  (await scene.worker.renew(lease)).interrupts.map(({ message_id }: Json) => message_id);

const saying = (said: Said): object => (said === undefined ? {} : { while_busy: said });
const inputsOf = async ({ id }: Json): Promise<Json[]> =>
  (await records(scene, `/api/sessions/${id}/inputs/input`)).records;

/** What became of it: the code of a refusal, or the disposition, with whether it steers. */
const outcomeOf = ({ status, body }: Answer): string =>
  status === 201 ? `${body.disposition}${body.steer === true ? ", steer" : ""}` : body.error.code;

const WHILE_LIVE: Record<WhileBusy, string> = {
  enqueue: "queued",
  interrupt: "queued",
  steer: "steered, steer",
  reject: "session_busy",
};

for (const declared of DECLARED)
  describe(`input to an actor that declares ${declared ?? "nothing"}`, () => {
    for (const said of DECLARED) {
      const holds = said ?? declared ?? "enqueue";

      test(`and that says ${said ?? "nothing"}, while a turn is at work`, async () => {
        const turn = await live(declared);
        const written = await write(turn.lease);
        assert.equal(outcomeOf(await send(scene, turn.session, "new", saying(said))), WHILE_LIVE[holds]);
        assert.deepEqual(await toldTo(turn), holds === "interrupt" ? [written] : []);
        const kept = (await inputsOf(turn.session)).map(({ data, steer }) => [data, steer]);
        const steer = holds === "steer" ? true : undefined;
        assert.deepEqual(kept, holds === "reject" ? [] : [["new", steer]]);
        // A stream that is there already does as one that was made for the input.
        const again = await send(scene, turn.session, "again", saying(said));
        assert.equal(outcomeOf(again), WHILE_LIVE[holds]);
      });

      test(`and that says ${said ?? "nothing"}, while a run waits for it, and when nobody is busy`, async () => {
        const turn = await live(declared);
        assert.deepEqual(await waitForInput(turn), []);
        const delivered = await send(scene, turn.session, "one", saying(said));
        assert.match(outcomeOf(delivered), holds === "steer" ? /^delivered, steer$/ : /^delivered$/);
        await scene.worker.report(turn.lease.operation("release", { outcome: "succeeded" }));
        await sessionKnows(scene, turn.lease.runId);
        assert.equal(outcomeOf(await send(scene, turn.session, "two", saying(said))), "started");
        assert.equal((await getSession(scene, turn.session.id)).turn, 2);
      });
    }
  });

describe("input that is to steer", () => {
  test("is shown to whoever reads and receives it, and other input is not marked", async () => {
    const turn = await live("steer", { input: "first" });
    await send(scene, turn.session, "turn left");
    await send(scene, turn.session, "later", { while_busy: "enqueue" });
    const { records: page } = await records(scene, `/v1/sessions/${turn.session.id}/inputs?received=false`);
    const marks = [
      ["first", undefined],
      ["turn left", true],
      ["later", undefined],
    ];
    assert.deepEqual(
      page.map(({ data, steer }: Json) => [data, steer]),
      marks,
    );
    const given: Json[] = [];
    for (const position of [1, 2, 3]) {
      given.push(...(await waitForInput(turn, position)));
      const entries = [{ position, kind: "wait", name: "input" }];
      assert.deepEqual(await scene.worker.report(turn.lease.operation("steps", { entries })), [200]);
    }
    assert.deepEqual(
      given.map(({ data, steer }) => [data, steer]),
      marks,
    );
  });

  test("and that its turn does not receive begins the next turn, also together with other input", async () => {
    const turn = await live("steer");
    for (const while_busy of ["steer", "enqueue"])
      await send(scene, turn.session, while_busy, { while_busy });
    await scene.worker.report(turn.lease.operation("release", { outcome: "succeeded" }));
    await sessionKnows(scene, turn.lease.runId);
    assert.equal((await getSession(scene, turn.session.id)).turn, 2);
    const next = await begin(turn.session);
    const [first] = await waitForInput(next);
    assert.deepEqual([first.data, first.steer], ["steer", true]);
  });

  test("says what it is now when it is repeated, and can be withdrawn", async () => {
    const turn = await live("steer");
    const again = (data: string): Promise<Answer> =>
      send(scene, turn.session, data, { idempotency_key: `of ${data}` });
    for (const data of ["one", "one", "two", "two"])
      assert.equal(outcomeOf(await again(data)), "steered, steer");
    const [given] = await waitForInput(turn);
    assert.equal(given.data, "one");
    assert.equal(outcomeOf(await again("one")), "delivered, steer");
    const withdrawn = await scene.call("DELETE", `/api/sessions/${turn.session.id}/inputs/input/2`);
    assert.deepEqual([withdrawn.status, withdrawn.body.steer], [200, true]);
    assert.equal("disposition" in (await again("two")).body, false);
  });

  test("is each record of a batch, and of batches that come together each its own", async () => {
    const { session } = await live("steer");
    await send(scene, session, "makes the stream");
    const batch = (name: string, extra: object = {}) =>
      scene.call("POST", `/v1/sessions/${session.id}/inputs`, {
        body: { records: [{ data: `${name} 1` }, { data: `${name} 2` }], ...extra },
      });
    await Promise.all([
      ...Array.from({ length: 5 }, (_, n) => batch(`declared ${n}`)),
      ...Array.from({ length: 5 }, (_, n) => batch(`queued ${n}`, { while_busy: "enqueue" })),
      ...Array.from({ length: 5 }, (_, n) => batch(`steered ${n}`, { while_busy: "steer" })),
    ]);
    const kept = await inputsOf(session);
    assert.equal(kept.length, 31);
    for (const { data, steer } of kept)
      assert.equal(steer, String(data).startsWith("queued") ? undefined : true);
  });
});

describe("what an actor declares", () => {
  test("is that of the deployment of the live turn, and the next turn has that of its own", async () => {
    const kept = await live("reject");
    const loose = await live("enqueue");
    await send(scene, loose.session, "makes the stream");
    try {
      await scene.deploy({
        ...MANIFEST,
        actors: declaring((declared) => (declared === "reject" ? "steer" : "reject")),
      });
      assert.equal(outcomeOf(await send(scene, kept.session, "no")), "session_busy");
      assert.equal(outcomeOf(await send(scene, loose.session, "yes")), "queued");
      for (const { lease } of [kept, loose]) {
        await scene.worker.report(lease.operation("release", { outcome: "succeeded" }));
        await sessionKnows(scene, lease.runId);
      }
      assert.equal(outcomeOf(await send(scene, kept.session, "next")), "started");
      assert.equal(outcomeOf(await send(scene, kept.session, "while it is queued")), "steered, steer");
      // Its next turn began with the input that was left.
      assert.equal(outcomeOf(await send(scene, loose.session, "no more")), "session_busy");
    } finally {
      await scene.deploy(MANIFEST);
    }
  });

  test("holds for every input stream, and for no output", async () => {
    const { session } = await live("reject", { input: "first" });
    const to = (path: string): Promise<Answer> =>
      scene.call("POST", `/api/sessions/${session.id}/${path}`, { body: { data: 1 } });
    assert.equal(outcomeOf(await to("inputs/notes")), "session_busy");
    assert.equal(outcomeOf(await to("inputs/input")), "session_busy");
    assert.equal((await to("outputs/output")).status, 201);
    assert.equal((await to("outputs/output")).status, 201);
  });

  test("is shown with the actor, and only actors declare it", async () => {
    const { actors } = await records(scene, "/api/actors");
    assert.deepEqual(
      Object.fromEntries(actors.map((one: Json) => [one.declared_id, one.while_busy])),
      Object.fromEntries(DECLARED.map((declared) => [actorOf(declared), declared ?? "enqueue"])),
    );
    for (const [task, problem] of [
      [{ while_busy: "steer" }, /manifest\.tasks\.0\.while_busy/],
      [{ while_busy: "stop" }, /manifest\.tasks\.0\.while_busy/],
    ] as const) {
      const refused = await scene.call("POST", "/v1/deployments", {
        body: {
          manifest: { tasks: [{ id: "plain", ...task }] },
          bundle_digest: "0".repeat(64),
          bundle_format_version: 1,
          worker_protocol_version: 1,
        },
      });
      assert.equal(refused.status, 400);
      assert.match(refused.text, problem);
    }
  });

  test("lets one of many begin the turn of an idle session, and refuses the others", async () => {
    const session = await startSession(scene, { actor: actorOf("reject") });
    await endTurn(scene, session);
    const sent = await Promise.all(Array.from({ length: 8 }, (_, n) => send(scene, session, n)));
    assert.deepEqual(sent.map(outcomeOf).sort(), [
      ...Array.from({ length: 7 }, () => "session_busy"),
      "started",
    ]);
    assert.equal((await inputsOf(session)).length, 1);
  });

  test("lets one of many reach a run that waits, and refuses the others", async () => {
    const turn = await live("reject");
    assert.deepEqual(await waitForInput(turn), []);
    const sent = await Promise.all(Array.from({ length: 8 }, (_, n) => send(scene, turn.session, n)));
    assert.deepEqual(sent.map(outcomeOf).sort(), [
      "delivered",
      ...Array.from({ length: 7 }, () => "session_busy"),
    ]);
    assert.equal((await inputsOf(turn.session)).length, 1);
  });

  for (const declared of ["reject", "steer"] as const)
    test(`(${declared}) refuses nothing between the end of a run and the session's knowing of it: the next turn begins with it`, async () => {
      const { session, lease } = await live(declared);
      let sent: Promise<Answer> | null = null;
      await holdSession(scene, session, async () => {
        await scene.worker.report(lease.operation("release", { outcome: "succeeded" }));
        sent = send(scene, session, "next");
      });
      const answer = (await (sent as Promise<Answer> | null)) as Answer;
      assert.equal(answer.status, 201, answer.text);
      await sessionKnows(scene, lease.runId);
      assert.equal((await getSession(scene, session.id)).turn, 2);
    });

  test("loses no input that races with the end of a turn, and keeps none that it refuses", async () => {
    for (let round = 0; round < 12; round += 1) {
      const declared = round % 2 === 0 ? "reject" : "steer";
      const { session, lease } = await live(declared);
      const [outcome] = await Promise.all([
        send(scene, session, "now").then(outcomeOf),
        scene.worker.report(lease.operation("release", { outcome: "succeeded" })),
      ]);
      await sessionKnows(scene, lease.runId);
      const { turn } = await getSession(scene, session.id);
      const isRefused = outcome === "session_busy";
      assert.deepEqual([turn, (await inputsOf(session)).length], isRefused ? [1, 0] : [2, 1], outcome);
      assert.equal(isRefused && declared === "steer", false);
      await cancelSessions(scene);
    }
  });

  test("is received or refused when it races with a run that begins to wait", async () => {
    for (let round = 0; round < 12; round += 1) {
      const turn = await live(round % 2 === 0 ? "reject" : "steer");
      const [outcome, given] = await Promise.all([
        send(scene, turn.session, "now").then(outcomeOf),
        waitForInput(turn),
      ]);
      if (outcome === "session_busy") {
        assert.deepEqual([given, await inputsOf(turn.session)], [[], []]);
        assert.equal(outcomeOf(await send(scene, turn.session, "later")), "delivered");
      }
      const left = await records(scene, `/v1/sessions/${turn.session.id}/inputs?received=false`);
      assert.deepEqual(left.records, [], outcome);
    }
  });

  test("answers a repeat of what it took, and takes what it refused with the same key later", async () => {
    const turn = await live("reject");
    const once = (): Promise<Answer> => send(scene, turn.session, "k", { idempotency_key: "k" });
    assert.equal(outcomeOf(await once()), "session_busy");
    assert.deepEqual(await waitForInput(turn), []);
    assert.deepEqual([outcomeOf(await once()), outcomeOf(await once())], ["delivered", "delivered"]);
    assert.equal((await inputsOf(turn.session)).length, 1);
    const interrupting = await live("interrupt");
    const key = { idempotency_key: "of an interrupt" };
    assert.equal(outcomeOf(await send(scene, interrupting.session, "one", key)), "queued");
    const later = await write(interrupting.lease);
    assert.equal(outcomeOf(await send(scene, interrupting.session, "one", key)), "queued");
    assert.deepEqual(await toldTo(interrupting), []);
    assert.equal(outcomeOf(await send(scene, interrupting.session, "two")), "queued");
    assert.deepEqual(await toldTo(interrupting), [later]);
  });

  test("locks no session where input is only appended: the append reads it with its stream", async () => {
    for (const declared of [undefined, "enqueue", "steer"] as const) {
      const { session } = await live(declared);
      await send(scene, session, "makes the stream");
      for (const said of [undefined, "enqueue", "steer"] as const) {
        const queries = await recordQueries(async () => {
          assert.equal((await send(scene, session, "more", saying(said))).status, 201);
        });
        // Loops of the server are heard as well: they lock the sessions of the test before, whose turns have ended.
        const locks = queries.filter(
          ({ text, values }) =>
            /FROM sessions s WHERE[^;]*FOR NO KEY UPDATE\s*$/.test(text) &&
            values.includes(decodeId("sess", session.id)),
        );
        assert.deepEqual(locks, [], `declares ${declared}, says ${said}`);
        const appends = queries.filter(({ text }) => text.includes("INSERT INTO stream_records"));
        assert.equal(appends.length, 1, JSON.stringify(appends));
      }
    }
  });

  test("is not asked of a session of a task", async () => {
    const session = await startSession(scene, { actor: undefined, task: "plain" });
    await begin(session);
    assert.equal(outcomeOf(await send(scene, session, "one")), "queued");
    assert.equal(outcomeOf(await send(scene, session, "two", { while_busy: "steer" })), "steered, steer");
  });
});

describe("input that a run sends to a session", () => {
  async function sendFromRun(to: Live, data: string): Promise<Json> {
    const sender = await begin(await startSession(scene, { actor: actorOf(undefined) }));
    const operation = { position: 1, stream: "input", session_id: to.session.id, data };
    const [sent] = await scene.worker.results(sender.lease.operation("inputs", operation));
    assert.equal(sent.status, 200, JSON.stringify(sent));
    // The rest of its report stands, and its run goes on.
    const entries = [{ position: 2, kind: "value", name: "now", value: 1 }];
    assert.deepEqual(await scene.worker.report(sender.lease.operation("steps", { entries })), [200]);
    return sent.result;
  }

  test("does what the session's actor declares", async () => {
    const steered = await live("steer");
    assert.equal((await sendFromRun(steered, "left")).error, null);
    assert.deepEqual(
      (await inputsOf(steered.session)).map(({ data, steer }) => [data, steer]),
      [["left", true]],
    );
    const interrupted = await live("interrupt");
    const written = await write(interrupted.lease);
    assert.equal((await sendFromRun(interrupted, "stop")).error, null);
    assert.deepEqual(await toldTo(interrupted), [written]);
  });

  test("is refused and not there where the actor declares that, and taken where a run waits", async () => {
    const busy = await live("reject");
    const { error, value } = await sendFromRun(busy, "no");
    assert.deepEqual([error.code, value ?? null], ["session_busy", null]);
    assert.deepEqual(await inputsOf(busy.session), []);
    assert.deepEqual(await waitForInput(busy), []);
    assert.equal((await sendFromRun(busy, "yes")).error, null);
    assert.deepEqual(
      (await inputsOf(busy.session)).map(({ sequence, data }) => [sequence, data]),
      [[1, "yes"]],
    );
  });
});
