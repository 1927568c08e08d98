import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import {
  actor,
  step,
  task,
  tokens,
  type Client,
  type InputOf,
  type JsonOf,
  type OutputOf,
  type Piped,
} from "@keelson/sdk";
import { z } from "zod";
import { declare, declareActor, outputOf } from "./support/declare.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const isTrue = <T extends true>(): T | undefined => undefined;

interface Person {
  name: string;
  born: Date;
  nickname?: string;
  manager: Person | null;
  greet(): string;
}
class Money {
  readonly cents: number;
  constructor(cents: number) {
    this.cents = cents;
  }
  toJSON(): { amount: string } {
    return { amount: (this.cents / 100).toFixed(2) };
  }
}

isTrue<Equal<JsonOf<string | null>, string | null>>();
isTrue<Equal<JsonOf<"a" | "b">, "a" | "b">>();
isTrue<Equal<JsonOf<Date>, string>>();
isTrue<Equal<JsonOf<undefined>, null>>();
isTrue<Equal<JsonOf<number | undefined>, number | null>>();
isTrue<Equal<JsonOf<void>, void>>();
isTrue<Equal<JsonOf<unknown>, unknown>>();
// oxlint-disable-next-line typescript/no-explicit-any
isTrue<Equal<JsonOf<any>, any>>();
isTrue<Equal<JsonOf<Money>, { amount: string }>>();
isTrue<Equal<JsonOf<Map<string, number>>, never>>();
isTrue<Equal<JsonOf<bigint>, never>>();
isTrue<Equal<JsonOf<[Date, number]>, [string, number]>>();
isTrue<Equal<JsonOf<Date[]>, string[]>>();
isTrue<Equal<JsonOf<{ a: number; b?: Date }>, { a: number; b?: string }>>();
isTrue<Equal<JsonOf<{ a: number | undefined }>, { a?: number }>>();
isTrue<Equal<JsonOf<{ a: unknown }>, { a: unknown }>>();
isTrue<Equal<JsonOf<Record<string, Date>>, Record<string, string>>>();
isTrue<Equal<JsonOf<Person>["born"], string>>();
isTrue<Equal<JsonOf<Person>["manager"], JsonOf<Person> | null>>();
isTrue<Equal<keyof JsonOf<Person>, "name" | "born" | "nickname" | "manager">>();

const dated = task({
  id: "json-dated",
  run: () => ({ at: new Date(0), note: undefined as string | undefined }),
});
isTrue<Equal<OutputOf<typeof dated>, { at: string; note?: string }>>();

const wantsDate = task({
  id: "json-wants-date",
  payload: z.object({ at: z.date(), name: z.string() }),
  run: ({ at }) => at.getTime(),
});
isTrue<Equal<InputOf<typeof wantsDate>["at"], never>>();
isTrue<Equal<InputOf<typeof wantsDate>["name"], string>>();

const coerces = task({
  id: "json-coerces",
  payload: z.object({ at: z.coerce.date<string>() }),
  run: ({ at }) => at.getTime(),
});

const listener = actor({
  id: "json-listener",
  run: async (session) => {
    const pieces = await session.output.pipe([new Date(0)]);
    isTrue<Equal<typeof pieces, Piped<Date>>>();
    isTrue<Equal<(typeof pieces)[number], string>>();
    const record = await session.input<{ at: Date }>("other").receive();
    isTrue<Equal<NonNullable<typeof record>["data"], { at: string }>>();
  },
});

/** For the compiler alone: what is inferred, and what is refused. */
async function check(client: Client): Promise<void> {
  const at = await step("date", () => new Date());
  isTrue<Equal<typeof at, string>>();
  // @ts-expect-error the result of a step is JSON: a Date has become a string
  at.getTime();
  const found = await step("find", async () => ({ born: new Date(), nickname: undefined }));
  isTrue<Equal<typeof found, { born: string }>>();
  const nothing: Promise<void> = step("log", async () => undefined as void);
  await nothing;

  const run = await client.tasks.start(dated);
  isTrue<Equal<typeof run.output, { at: string; note?: string } | null>>();
  const output = await dated.call();
  isTrue<Equal<typeof output, { at: string; note?: string }>>();
  await client.tasks.start(coerces, { at: "2026-11-22" });
  // @ts-expect-error a Date arrives as a string, which this schema refuses
  await client.tasks.start(wantsDate, { at: new Date(), name: "x" });

  const token = await tokens.create<{ due: Date }>();
  isTrue<Equal<Awaited<ReturnType<typeof token.wait>>, { due: string }>>();
  for await (const record of client.sessions.records<{ at: Date }>("sess_1"))
    isTrue<Equal<typeof record.data, { at: string }>>();
}

test("a step, an output and a piece have the values that their types say, first and replayed", async () => {
  void [check, listener];
  const { start } = declare(async (ctx) => {
    const first = await ctx.step("date", () => new Date(0));
    const person = await ctx.step("person", () => ({ born: new Date(0), nickname: undefined }));
    const none = await ctx.step("none", () => undefined);
    return [first, person, none];
  });
  const expected = ["1970-01-01T00:00:00.000Z", { born: "1970-01-01T00:00:00.000Z" }, null];
  const first = start({ dieAt: "end" });
  assert.equal(await first.ended, null);
  assert.deepEqual(outputOf(first.result), expected);
  assert.deepEqual(outputOf(await start().ended), expected);
});

test("pieces that are piped are JSON, inside a step too", async () => {
  const seen: unknown[] = [];
  const { ended } = declareActor(async (session, ctx) => {
    async function* pieces() {
      yield new Date(0);
      await nextTurn();
      yield { at: new Date(0), absent: undefined };
    }
    seen.push(await session.output.pipe(pieces()));
    await ctx.step("inside", async () => {
      seen.push(await session.output.pipe(pieces()));
    });
  });
  outputOf(await ended());
  const expected = ["1970-01-01T00:00:00.000Z", { at: "1970-01-01T00:00:00.000Z" }];
  assert.deepEqual(seen, [expected, expected]);
});
