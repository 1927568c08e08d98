// Sessions and chats in the process of a test, without a server.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { actor, task, UsageError } from "@keelson/sdk";
import { chatActor } from "@keelson/sdk/ai";
import { openSession, runTask } from "@keelson/sdk/testing";
import { tool } from "ai";
import { z } from "zod";
import { readPrompt, scriptedModel, type Turn } from "./support/chat-model.ts";

let ids = 0;
const id = (): string => `tested-actor-${(ids += 1)}`;

/** Says the turns one after the other. */
function inTurn(...turns: Turn[]) {
  const prompts: string[][] = [];
  const model = scriptedModel((prompt) => {
    prompts.push(readPrompt(prompt));
    return turns[prompts.length - 1] as Turn;
  });
  return { model, prompts };
}

describe("a session in process", () => {
  test("receives what is sent, remembers, and returns when it is closed", async () => {
    const counter = actor({
      id: id(),
      input: z.object({ n: z.number() }),
      state: z.object({ sum: z.number() }),
      run: async (session) => {
        let records = 0;
        for await (const { data, correlationId } of session.input) {
          records += 1;
          const { state } = await session.state.update((now) => ({ sum: (now?.sum ?? 0) + data.n }));
          await session.output.append(state, { correlationId });
        }
        return { records };
      },
    });
    const session = openSession(counter, { externalId: "c", state: { sum: 10 } });
    assert.equal((await session.send({ n: 1 }, { correlationId: "q" })).disposition, "queued");
    const { data, correlationId } = await session.next();
    assert.deepEqual([data, correlationId], [{ sum: 11 }, "q"]);
    await session.rest();
    assert.equal((await session.send({ n: 2 })).disposition, "delivered");
    assert.deepEqual((await session.next()).data, { sum: 13 });
    assert.deepEqual(session.state(), { state: { sum: 13 }, version: 3 });
    await session.close();
    assert.deepEqual(await session.ended, {
      ...{ status: "succeeded", output: { records: 2 }, failure: null, attemptNumber: 1 },
    });
    await assert.rejects(session.send({ n: 3 }), UsageError);
    await assert.rejects(session.next(), /ended as closed/);
  });

  test("is idle when its test lets time pass, and begins another turn with the next input", async () => {
    const idle = actor({
      id: id(),
      idleTimeout: "10m",
      run: async (session, { wait }) => {
        const record = await session.input.receive();
        await wait.for("1h");
        return [session.turn, record?.data ?? null];
      },
    });
    const session = openSession(idle);
    await session.rest();
    assert.equal(session.turns[0]?.status, "waiting");
    await session.passTime();
    await session.rest();
    assert.deepEqual(session.turns[0]?.ending?.output, [1, null]);
    assert.equal((await session.send("hello")).disposition, "started");
    await session.rest();
    assert.deepEqual(session.turns[1]?.ending?.output, [2, "hello"]);
    assert.equal(session.status, "open");
  });

  test("stops a message that is interrupted", async () => {
    const endless = actor({
      id: id(),
      run: async ({ output }) => {
        const piped = await output.pipe(async function* ({ signal }) {
          yield "a";
          await new Promise((_, reject) => {
            signal.addEventListener("abort", () => reject(signal.reason as Error));
          });
        });
        return [piped, piped.interrupted];
      },
    });
    const session = openSession(endless);
    const { messageId, data } = await session.next();
    assert.equal(data, "a");
    assert.equal((await session.interrupt(messageId ?? "")).status, "interrupting");
    await session.close();
    assert.deepEqual((await session.ended).output, [["a"], true]);
    assert.deepEqual(
      session.messages().map(({ status, data }) => [status, data]),
      [["interrupted", "a"]],
    );
    await assert.rejects(session.interrupt("msg_1"), UsageError);
  });

  test("does with input during a turn what its sender says, and otherwise what the actor declares", async () => {
    const busy = (whileBusy: "steer" | "reject" | "interrupt") =>
      openSession(
        actor({
          id: id(),
          whileBusy,
          run: async ({ input, output, turn }, { wait }) => {
            if (turn > 1) return (await input.receive())?.data;
            const piped = await output.pipe(async function* ({ signal }) {
              yield "a";
              await new Promise<void>((resolve) => {
                signal.addEventListener("abort", () => resolve());
              });
            });
            await wait.for("1s");
            const pending = (await input.pending()).map(({ data, steer }) => [data, steer]);
            return [piped.interrupted, pending, (await input.receive())?.data ?? null];
          },
        }),
      );
    const steered = busy("steer");
    const { messageId } = await steered.next();
    assert.equal((await steered.send("left")).disposition, "steered");
    assert.equal((await steered.send("later", { whileBusy: "enqueue" })).disposition, "queued");
    await assert.rejects(steered.send("no", { whileBusy: "reject" }), /Turn 1 of the session is live/);
    await steered.interrupt(messageId ?? "");
    await steered.rest();
    const pending = [
      ["left", true],
      ["later", false],
    ];
    assert.deepEqual(
      steered.turns.map(({ ending }) => ending?.output),
      [[true, pending, "left"], "later"],
    );

    const refusing = busy("reject");
    await refusing.next();
    await assert.rejects(refusing.send("no"), UsageError);
    assert.equal((await refusing.send("stop", { whileBusy: "interrupt" })).disposition, "queued");
    await refusing.rest();
    assert.deepEqual(refusing.turns[0]?.ending?.output, [true, [["stop", false]], "stop"]);
    assert.equal((await refusing.send("next")).disposition, "started");

    const interrupted = busy("interrupt");
    await interrupted.next();
    assert.equal((await interrupted.send("stop")).disposition, "queued");
    await interrupted.rest();
    assert.deepEqual(interrupted.turns[0]?.ending?.output, [true, [["stop", false]], "stop"]);
  });

  test("keeps open when a turn fails, and says why there is no record", async () => {
    const failing = actor({
      id: id(),
      retry: { maxAttempts: 2 },
      run: async (session) => {
        const record = await session.input.receive();
        throw new Error(`no ${String(record?.data)}`);
      },
    });
    const session = openSession(failing);
    await session.send("luck");
    await assert.rejects(session.next(), /no luck/);
    assert.equal(session.status, "open");
    assert.equal(session.turns[0]?.ending?.attemptNumber, 2);
  });
});

describe("a chat in process", () => {
  test("calls tools, asks for approval, and knows what was said before", async () => {
    const { model, prompts } = inTurn(
      { calls: { refund: { amount: 5 } } },
      { text: "Refunded." },
      { text: "You are welcome." },
    );
    const chat = chatActor({
      id: id(),
      model,
      approval: ["refund"],
      tools: {
        refund: tool({
          inputSchema: z.object({ amount: z.number() }),
          execute: ({ amount }) => `${amount} refunded`,
        }),
      },
    });
    const session = openSession(chat);
    await session.send("Refund me.");
    const token = await session.token();
    assert.deepEqual(token.metadata["tool"], "refund");
    token.complete({ approved: true });
    await session.rest();
    await session.send("Thanks.");
    await session.rest();
    assert.equal(session.messages().length, 4);
    assert.deepEqual(prompts[2], [
      "user: Refund me.",
      'assistant: refund({"amount":5})',
      'tool: refund = {"type":"text","value":"5 refunded"}',
      "assistant: Refunded.",
      "user: Thanks.",
    ]);
    assert.equal(session.turns[0]?.usage.calls, 3);
    await session.passTime();
    await session.close();
    assert.deepEqual((await session.ended).output, { answers: 2 });
  });
});

describe("an answer of a chat in process", () => {
  test("is stopped while it waits for an approval", async () => {
    const { model } = inTurn({ text: "Let me see.", calls: { refund: {} } });
    const chat = chatActor({
      id: id(),
      model,
      approval: ["refund"],
      tools: { refund: tool({ inputSchema: z.object({}), execute: () => "done" }) },
    });
    const session = openSession(chat);
    await session.send("Refund me.");
    await session.token();
    await session.rest();
    const [, answer] = session.messages();
    assert.equal(answer?.status, "open");
    await session.interrupt(answer.id);
    await session.close();
    assert.deepEqual((await session.ended).output, { answers: 1 });
    assert.equal(session.messages()[1]?.status, "interrupted");
  });
});

describe("a client in process", () => {
  test("says that there is no server, or does what the test says", async () => {
    const asking = task({
      id: id(),
      run: async (_: unknown, { client, step }) =>
        step("count", async () => (await client.tasks.start("other", { a: 1 })).id),
    });
    const { failure } = await runTask(asking, null).ended;
    const nested = task({
      id: id(),
      run: async (_: unknown, { client }) => {
        for await (const run of client.runs.list()) return run.id;
        return client.workspaces.files.list("ws_1", "/");
      },
    });
    assert.match((await runTask(nested, null).ended).failure?.message ?? "", /ctx\.client\.runs\.list\(\)/);
    assert.match(failure?.message ?? "", /ctx\.client\.tasks\.start\(\) needs a server.*Pass `client`/);
    const started: unknown[] = [];
    const tasks = {
      start: async (...args: unknown[]) => {
        started.push(args);
        return { id: "run_1" };
      },
    };
    const { output } = await runTask(asking, null, { client: { tasks } }).ended;
    assert.equal(output, "run_1");
    assert.deepEqual(started, [["other", { a: 1 }]]);
  });
});
