import { test } from "node:test";
import { actor, step, task, tokens, type Client, type InputOf } from "@keelson/sdk";
import { z } from "zod";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const isTrue = <T extends true>(): T | undefined => undefined;

const report = task({
  id: "types-durable-report",
  payload: z.object({ path: z.string() }),
  run: ({ path }) => ({ files: path.length }),
});
const bare = task({ id: "types-durable-bare", run: () => "done" });

const talker = actor({
  id: "types-talker",
  input: z.object({ text: z.string(), at: z.coerce.date() }),
  run: async (session) => {
    const record = await session.input.receive();
    isTrue<Equal<NonNullable<typeof record>["data"], { text: string; at: Date }>>();
    const approval = await session.input("approvals", z.boolean()).receive();
    const ok: boolean | undefined = approval?.data;
    return { text: record?.data.text, ok };
  },
});
isTrue<Equal<InputOf<typeof talker>["text"], string>>();

/** For the compiler alone: what is inferred, and what is refused. */
async function check(client: Client): Promise<void> {
  await client.actors.start(talker, { text: "Hello", at: "2026-11-20" });
  const output = await report.call({ path: "." }, { timeout: "5m" });
  isTrue<Equal<typeof output, { files: number }>>();
  isTrue<Equal<Awaited<ReturnType<typeof report.start>>, { id: string }>>();
  await bare.call();
  const length = await step("measure", async () => "text".length);
  isTrue<Equal<typeof length, number>>();
  const token = await tokens.create<{ ok: boolean }>();
  isTrue<Equal<Awaited<ReturnType<typeof token.wait>>, { ok: boolean }>>();

  // @ts-expect-error the payload is required
  await report.start();
  // @ts-expect-error a path is text
  await report.call({ path: 1 });
  // @ts-expect-error a child is started once, without a key
  await bare.start(undefined, { idempotencyKey: "x" });
}

test("the types of durable calls are those of what they call", () => {
  // The compiler has checked them, or this file would not have passed it.
  void check;
});
