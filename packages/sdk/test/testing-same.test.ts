// A program does in process what it does on a server: outputs, journals, steps, records and messages are equal.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  actor,
  NonRetryableError,
  RetryAfterError,
  task,
  TokenExpiredError,
  WaitTimeoutError,
} from "@keelson/sdk";
import { chatActor } from "@keelson/sdk/ai";
import { tool } from "ai";
import { z } from "zod";
import { until } from "../../server/test/support/until.ts";
import { assertSame } from "./support/both-sides.ts";
import { scriptedModel } from "./support/chat-model.ts";

let ids = 0;
const id = (): string => `same-${(ids += 1)}`;
const NOW = { initialDelay: 1, jitter: false } as const;

describe("a program that runs on a server and in process", () => {
  test("has the same steps, whose tries fail", async () => {
    const { ended, steps } = await assertSame(
      task({
        id: id(),
        run: async (_: unknown, { step, metadata, usage, uuid }) => {
          metadata.set("list", ["a"]);
          metadata.append("list", "b");
          uuid();
          const tries = await step(
            "flaky",
            ({ attempt }) => {
              if (attempt < 3) throw new Error("not yet");
              return attempt;
            },
            { retry: { ...NOW, maxAttempts: 3 } },
          );
          usage.add({ model: "large", inputTokens: 10, outputTokens: 2 });
          usage.add({ model: "large", calls: 2, costUsd: 0.1 });
          usage.add({ model: "small", costUsd: 0.2 });
          const failed = await step("failing", () => {
            throw new NonRetryableError("never");
          }).catch((error: Error) => [error.name, error.message]);
          const both = await Promise.all([step("one", () => 1), step("two", () => null)]);
          return { tries, failed, both };
        },
      }),
    );
    assert.deepEqual(ended.output.tries, 3);
    assert.equal(steps.length, 4);
  });

  test("has the same attempts, and keeps what the first ones did", async () => {
    const { ended, calls } = await assertSame(
      task({
        id: id(),
        retry: { ...NOW, maxAttempts: 3 },
        run: async (_: unknown, { step, attempt }) => {
          const kept = await step("kept", () => "kept");
          if (attempt.number === 1) throw new RetryAfterError("again", "1m");
          await step("failing", () => {
            if (attempt.number < 3) throw new Error("once more");
            return true;
          });
          return [kept, attempt.number];
        },
      }),
    );
    assert.deepEqual(ended.output, ["kept", 3]);
    assert.equal(calls.length, 2);
  });

  test("continues with an empty journal, and keeps its metadata and usage", async () => {
    const { ended, calls } = await assertSame(
      task({
        id: id(),
        retry: { ...NOW, maxAttempts: 2 },
        run: async (payload: { n: number } | null, { step, attempt, metadata, usage, continueAs, run }) => {
          const n = payload?.n ?? 0;
          metadata.append("seen", n);
          await step(`count ${n}`, () => n);
          usage.add({ model: "large", inputTokens: 10 });
          if (attempt.number === 1) throw new RetryAfterError("again", "1m");
          if (n < 2) return continueAs({ n: n + 1 });
          return [n, run.continuations];
        },
      }),
    );
    assert.deepEqual([ended.output, calls.length], [[2, 2], 1]);
  });

  test("continues its turn, which has received what it has received", async () => {
    const { ended, state } = await assertSame(
      actor({
        id: id(),
        run: async (session, ctx) => {
          if (ctx.run.continuations === 1) return (await session.state.get()).state;
          const record = await session.input.receive();
          await session.state.set([record?.data]);
          return ctx.continueAs();
        },
      }),
      ({ send }) => send("one"),
    );
    assert.deepEqual([ended.output, state], [["one"], ["one"]]);
  });

  test("fails with the same failure", async () => {
    const { ended } = await assertSame(
      task({
        id: id(),
        retry: { ...NOW, maxAttempts: 2 },
        run: async (_: unknown, { step }) => {
          await step("done", () => 1);
          await step("broken", () => {
            throw new Error("broken");
          });
        },
        onFailure: async (_failure, { metadata, step }) => {
          metadata.set("told", await step("tell", () => "told"));
        },
      }),
    );
    assert.equal(ended.status, "failed");
    assert.equal(ended.attemptNumber, 2);
  });

  test("sleeps the same", async () => {
    const sleepy = task({
      id: id(),
      run: async (_: unknown, { wait, now, step }) => {
        const began = now();
        await wait.for("2h", { name: "nap" });
        await wait.until(new Date(began.getTime() - 1000));
        await step("after", () => "rested");
        await wait.for(0);
        return "awake";
      },
    });
    const { ended } = await assertSame(sleepy, ({ timer }) => timer());
    assert.equal(ended.output, "awake");
  });

  test("waits for tokens, which are completed or time out", async () => {
    const asking = task({
      id: id(),
      run: async (_: unknown, { tokens, step }) => {
        const first = await tokens.create<{ ok: boolean }>({ timeout: "1d", metadata: { a: 1 } });
        const completed = await first.wait();
        const second = await tokens.create({ timeout: "3h" });
        const late = await second
          .wait({ timeout: "1h" })
          .catch((error: unknown) => error instanceof WaitTimeoutError);
        const expired = await second.wait().catch((error: unknown) => error instanceof TokenExpiredError);
        await step("end", () => 0);
        return [completed, late, expired];
      },
    });
    const { ended } = await assertSame(asking, async ({ completeToken, timeout, expire }) => {
      await completeToken({ ok: true });
      await timeout();
      await expire(3 * 3_600_000);
    });
    assert.deepEqual(ended.output, [{ ok: true }, true, true]);
  });

  test("is cancelled while it works", async () => {
    const begun: unknown[] = [];
    const working = task({
      id: id(),
      run: async (_: unknown, { step }) => {
        await step("done", () => "done");
        await step("work", ({ signal }) => {
          begun.push(signal);
          return new Promise((_, reject) => {
            signal.addEventListener("abort", () => reject(signal.reason as Error));
          });
        });
      },
    });
    const { ended } = await assertSame(working, async ({ cancel }) => {
      await until("the step is at work", 60_000, async () => begun.length > 0);
      begun.pop();
      await cancel();
    });
    assert.equal(ended.status, "cancelled");
  });

  test("waits no longer for a child when its message is interrupted, and cancels it", async () => {
    const child = task({ id: id(), run: (n: number) => n });
    const parent = actor({
      id: id(),
      run: async ({ output }) => {
        const message = await output.message();
        await message.pipe(["a"]);
        const cut = await child.call(1).catch((error: Error) => error.name);
        return [cut, await message.end()];
      },
    });
    const { ended } = await assertSame(
      parent,
      async ({ childBegins, interrupt }) => {
        await childBegins();
        await interrupt();
      },
      child.id,
    );
    assert.deepEqual(ended.output, ["InterruptedError", "interrupted"]);
  });

  test("calls children, which succeed or fail", async () => {
    const child = task({ id: id(), retry: { maxAttempts: 1 }, run: (n: number) => n });
    const parent = task({
      id: id(),
      run: async () => {
        const one = await child.call(1, { tags: ["x"] });
        const failed = await child.call(2).catch((error: Error) => error.name);
        return [one, failed];
      },
    });
    const act: Parameters<typeof assertSame>[1] = async ({ endChild }) => {
      await endChild({ output: 10 });
      await endChild({ message: "odd" });
    };
    const { ended } = await assertSame(parent, act, child.id);
    assert.deepEqual(ended.output, [10, "ChildRunError"]);
  });

  test("receives input in a session, and keeps its state", async () => {
    const counter = actor({
      id: id(),
      idleTimeout: "10m",
      run: async (session) => {
        const all: unknown[] = [];
        for await (const { data, sequence } of session.input) {
          all.push(data, sequence, (await session.input.pending()).length);
          const { version } = await session.state.update((now) => [...((now as unknown[]) ?? []), data]);
          await session.output.append({ version }, { correlationId: "c" });
        }
        const conflict = await session.state
          .set("no", { ifVersion: 1 })
          .catch((error: Error) => error.message);
        return { all, conflict, late: await session.input("other").receive({ timeout: "1m" }) };
      },
    });
    const { ended } = await assertSame(counter, async ({ send, timeout, close }) => {
      await send("a");
      await send({ b: 1 });
      await timeout();
      await close();
    });
    assert.deepEqual(ended.output.all, ["a", 1, 0, { b: 1 }, 2, 0]);
  });
});

describe("messages of a session", () => {
  test("are interrupted the same", async () => {
    const endless = actor({
      id: id(),
      run: async ({ output }) => {
        const piped = await output.pipe(async function* ({ signal }) {
          yield "a";
          await new Promise((_, reject) => {
            signal.addEventListener("abort", () => reject(signal.reason as Error));
          });
        });
        await output.pipe(["b", "c"], { correlationId: "second" });
        return [piped, piped.interrupted];
      },
    });
    const { ended, messages } = await assertSame(endless, ({ interrupt }) => interrupt());
    assert.deepEqual(ended.output, [["a"], true]);
    assert.deepEqual(
      messages.map(({ data, status }: { data: unknown; status: string }) => [data, status]),
      [
        ["bc", "complete"],
        ["a", "interrupted"],
      ],
    );
  });

  test("are interrupted while their code waits", async () => {
    const asking = actor({
      id: id(),
      run: async ({ output }, { tokens }) => {
        const message = await output.message();
        await message.pipe(["May I?"]);
        const token = await tokens.create();
        const answer = await token.wait().catch((error: Error) => error.name);
        return [answer, message.interrupted, await message.end({ data: { asked: true } })];
      },
    });
    const { ended } = await assertSame(asking, async ({ rest, interrupt }) => {
      await rest();
      await interrupt();
    });
    assert.deepEqual(ended.output, ["InterruptedError", true, "interrupted"]);
  });

  test("span steps and waits, and begin anew what a try wrote", async () => {
    const spanning = actor({
      id: id(),
      retry: { ...NOW, maxAttempts: 2 },
      run: async ({ output }, { step, wait, attempt }) => {
        const message = await output.message({ correlationId: "m" });
        await step(
          "write",
          async ({ attempt: number }) => {
            await message.pipe([`try ${number} `]);
            if (number === 1) throw new Error("again");
          },
          { retry: { ...NOW, maxAttempts: 2 } },
        );
        await wait.for("1h");
        await message.pipe(["after "]);
        if (attempt.number === 1) throw new Error("the next attempt");
        await message.pipe(["end"]);
        const left = await output("left").message();
        await left.pipe([1, { two: 2 }]);
        return message.end();
      },
    });
    const { ended, messages } = await assertSame(spanning, ({ timer }) => timer());
    assert.equal(ended.output, "complete");
    assert.deepEqual(
      messages.map(({ data }: { data: unknown }) => data),
      [[1, { two: 2 }], "try 2 after end"],
    );
  });

  test("are the same in a chat with a tool that has to be approved", async () => {
    let calls = 0;
    const turns = [{ text: "Let me see.", calls: { look: { at: "it" } } }, { text: "It is there." }];
    const prompts: unknown[] = [];
    const chat = chatActor({
      id: id(),
      idleTimeout: "10m",
      approval: ["look"],
      model: scriptedModel((prompt) => {
        prompts.push(prompt.length);
        calls += 1;
        return turns[(calls - 1) % 2] as (typeof turns)[number];
      }),
      tools: { look: tool({ inputSchema: z.object({ at: z.string() }), execute: ({ at }) => [at] }) },
    });
    const { ended, messages } = await assertSame(chat, async ({ send, completeToken, timeout }) => {
      await send("Where is it?");
      await completeToken({ approved: true });
      await timeout();
    });
    assert.deepEqual(ended.output, { answers: 1 });
    assert.equal(messages.length, 2);
    assert.deepEqual(prompts.slice(0, 2), prompts.slice(2));
  });
});
