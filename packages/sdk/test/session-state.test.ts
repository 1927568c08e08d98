// The state of a session in the code of its turns, and at the client.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  actor,
  Client,
  ConflictError,
  DataInvalidError,
  RefusedError,
  StateConflictError,
  UsageError,
  type RunSession,
  type SessionHandle,
} from "@keelson/sdk";
import { z } from "zod";
import { declare, declareActor, outputOf, runOf } from "./support/declare.ts";
import type { KeptRun } from "./support/kept-run.ts";
import { testWorker } from "./support/test-worker.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const isTrue = <T extends true>(): T | undefined => undefined;

const Progress = z.object({
  topic: z.string(),
  seen: z.coerce.date<string>(),
  questions: z.number().default(0),
});

const withAnySession = async ({ state }: RunSession): Promise<number> => (await state.get()).version;

const helper = actor({
  id: "state-helper",
  state: Progress,
  run: async (session) => {
    const first = await session.state.get();
    isTrue<Equal<typeof first.state, { topic: string; seen: Date; questions: number } | null>>();
    const misfit = await session.state.set({ topic: 1, seen: "never" } as never).catch((error) => error);
    assert.ok(misfit instanceof DataInvalidError, String(misfit));
    assert.equal((await session.state.get()).version, first.version, "nothing was set");
    const { state, version } = await session.state.set({ topic: "delivery", seen: "2026-11-20T00:00:00Z" });
    isTrue<Equal<typeof state.seen, Date>>();
    assert.ok(state.seen instanceof Date);
    // @ts-expect-error a topic is text
    await session.state.set({ topic: 1, seen: "2026-11-20" }).catch(() => undefined);
    const next = await session.state.update((now) => ({
      topic: `${now?.topic}!`,
      seen: "2026-11-21T00:00:00Z",
      questions: (now?.questions ?? 0) + 1,
    }));
    assert.equal(await withAnySession(session), next.version);
    return [first.state, version, next];
  },
});

/** For the compiler alone: what is inferred, and what is refused. */
async function check(handle: SessionHandle<typeof helper>, client: Client): Promise<void> {
  const { state } = await handle.state();
  isTrue<Equal<typeof state, { topic: string; seen: string; questions?: number } | null>>();
  await handle.setState({ topic: "a", seen: "2026-11-20" });
  // @ts-expect-error a topic is text
  await handle.setState({ topic: 1, seen: "2026-11-20" });
  isTrue<Equal<Awaited<ReturnType<typeof client.sessions.state>>["state"], unknown>>();
  await client.sessions.setState("sess_1", 1);
}

async function connected<A extends typeof helper>(run: KeptRun) {
  const { server } = await testWorker();
  const client = new Client({ url: server.url, apiKey: server.credentials.api_key });
  const { session } = await run.started();
  return { client, session: client.sessions.open<A>(session.id as string), id: session.id as string };
}

const setsOf = (run: KeptRun): unknown[] =>
  run.applied.flatMap((call) => (call.kind === "states" && call.action === "set" ? [call.state] : []));

describe("session.state", () => {
  test("is null until it is set, is kept for the next turn, and a replay reads what the code read", async () => {
    const reads: unknown[] = [];
    const { run, start } = declareActor(async ({ state, input }) => {
      reads.push(await state.get(), await state.set({ n: 1 }), await state.get());
      await input.receive();
      return state.get();
    });
    const first = start();
    await first.parked();
    const { session } = await connected(run);
    await session.setState({ topic: "by a caller", seen: "" });
    assert.equal(first.suspend(), true);
    await first.ended;
    await run.send("go on");
    const after = outputOf(await start().ended);
    assert.deepEqual(after, { state: { topic: "by a caller", seen: "" }, version: 2 });
    const seen = [
      { state: null, version: 0 },
      { state: { n: 1 }, version: 1 },
      { state: { n: 1 }, version: 1 },
    ];
    assert.deepEqual(reads, [...seen, ...seen]);
    assert.deepEqual(setsOf(run), [{ n: 1 }]);
  });

  test("is set once, wherever the process dies", async () => {
    for (const applied of [false, true])
      for (let call = 0; call < 4; call += 1) {
        const { run, start } = declareActor(async ({ state }) => {
          const { version } = await state.get();
          await state.set(`${version}`);
          await state.set("again", { ifVersion: version + 1 });
          return (await state.get()).version;
        });
        assert.equal(await start({ dieAt: { call, applied } }).ended, null);
        assert.equal(outputOf(await start().ended), 2, `died at call ${call}, applied: ${applied}`);
        assert.equal((await (await connected(run)).session.state()).version, 2);
      }
  });

  test("rejects a set that compares with another version, also in a replay", async () => {
    const caught: unknown[] = [];
    const { run, start } = declareActor(async ({ state, input }) => {
      await state.set("first");
      caught.push(await state.set("second", { ifVersion: 0 }).catch((error) => error));
      await input.receive();
      return (await state.get()).state;
    });
    const first = start();
    await first.parked();
    first.suspend();
    await first.ended;
    await run.send("go on");
    assert.equal(outputOf(await start().ended), "first");
    assert.equal(caught.length, 2);
    for (const error of caught) {
      assert.ok(error instanceof StateConflictError && error instanceof RefusedError);
      assert.deepEqual([error.name, error.code, error.version], ["StateConflictError", "state_conflict", 1]);
      assert.match(error.message, /has version 1, not version 0/);
    }
  });

  test("loses no update of those who update it at once", async () => {
    const { run, start } = declareActor(async ({ state }) => {
      const add = (now: unknown) => ((now as number | null) ?? 0) + 1;
      for (let n = 0; n < 10; n += 1) await state.update(add);
      await Promise.all([state.update(add), state.update(async (now) => add(now)), state.update(add)]);
    });
    const { session } = await connected(run);
    const plain = session as unknown as SessionHandle;
    const addOne = async (): Promise<unknown> => {
      for (;;) {
        const { state, version } = await plain.state();
        try {
          return await plain.setState(((state as number | null) ?? 0) + 1, { ifVersion: version });
        } catch (error) {
          assert.ok(error instanceof ConflictError && error.code === "state_conflict", String(error));
          assert.ok((error.details?.["version"] as number) > version);
        }
      }
    };
    const callers = [1, 2, 3].map(async () => {
      for (let n = 0; n < 10; n += 1) await addOne();
    });
    const [result] = await Promise.all([start().ended, ...callers]);
    outputOf(result);
    assert.deepEqual([(await plain.state()).state, (await plain.state()).version], [43, 43]);
    // The three that update at once have read the same version.
    assert.ok(setsOf(run).length > 13);
  });

  test("has the types and the checks of the actor's schema", async () => {
    void check;
    const { run, ended } = runOf({ kind: "actor", id: helper.id });
    const [first, version, next] = outputOf(await ended()) as unknown[];
    assert.deepEqual([first, version], [null, 1]);
    const seen = "2026-11-21T00:00:00.000Z";
    assert.deepEqual(next, { state: { topic: "delivery!", seen, questions: 1 }, version: 2 });
    const { session } = await connected(run);
    // What is kept is what was set, not what the schema makes of it.
    assert.deepEqual((await session.state()).state, {
      topic: "delivery!",
      seen: "2026-11-21T00:00:00Z",
      questions: 1,
    });
  });

  test("that others have set and that does not fit is a DataInvalidError for who reads it", async () => {
    const { run, ended } = runOf({ kind: "actor", id: helper.id });
    const { client, id } = await connected(run);
    await client.sessions.setState(id, { topic: "no date" });
    const result = await ended();
    assert.equal(result?.outcome, "failed");
    assert.match(JSON.stringify(result), /The state of the session does not fit its schema: seen/);
  });

  test("is refused where it cannot be kept", async () => {
    const { ended } = declareActor(async ({ state }, { step }) => {
      const why = async (call: () => Promise<unknown>): Promise<string> =>
        call().then(
          () => "none",
          (error: Error) => (error instanceof UsageError ? error.message : String(error)),
        );
      return [
        await step("inside", () => why(() => state.get())),
        await step("inside", () => why(() => state.set(1))),
        await why(() => state.set("x".repeat(256 * 1024))),
        await why(() => state.set(new Map())),
        await why(() => state.set(1, { ifVersion: -1 })),
      ];
    });
    const [get, set, size, map, version] = outputOf(await ended()) as string[];
    assert.match(get ?? "", /session\.state\.get\(\) was called inside the step "inside"/);
    assert.match(set ?? "", /session\.state\.set\(\) was called inside the step "inside"/);
    assert.match(size ?? "", /The state of the session is 262146 bytes of JSON/);
    assert.match(map ?? "", /The state of the session is not JSON/);
    assert.match(version ?? "", /ifVersion is -1/);
  });

  test("is not there in a run without a session", async () => {
    const { ended } = declare((ctx) => ctx.session);
    assert.equal(outputOf(await ended()), null);
  });
});

test("the client finds a session's state by its external id, and repeats a set that got no answer", async () => {
  const { run } = declareActor(() => 1, {}, { session: { external_id: "state-1" } });
  const { client, id } = await connected(run);
  const session = client.sessions.open({ externalId: "state-1" });
  const set = await session.setState({ a_key: 1 }, { ifVersion: 0, idempotencyKey: "k" });
  assert.deepEqual([set.sessionId, set.state, set.version], [id, { a_key: 1 }, 1]);
  const again = await session.setState({ a_key: 1 }, { ifVersion: 0, idempotencyKey: "k" });
  assert.deepEqual(again, set);
  assert.deepEqual(await client.sessions.state({ externalId: "state-1" }), set);
  await session.cancel();
  await assert.rejects(session.setState(1), { code: "session_closed" });
});
