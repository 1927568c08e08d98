import { test } from "node:test";
import {
  actor,
  task,
  type Client,
  type InputOf,
  type OutputOf,
  type RecordOf,
  type RunOf,
} from "@keelson/sdk";
import { z } from "zod";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const isTrue = <T extends true>(): T | undefined => undefined;

const report = task({
  id: "types-report",
  payload: z.object({ path: z.string(), depth: z.coerce.number().default(3) }),
  run: async (payload, ctx) => {
    isTrue<Equal<typeof payload, { path: string; depth: number }>>();
    isTrue<Equal<typeof ctx.attempt, { number: number; max: number }>>();
    return { files: payload.depth };
  },
});
isTrue<Equal<OutputOf<typeof report>, { files: number }>>();
isTrue<Equal<InputOf<typeof report>["path"], string>>();

const annotated = task({
  id: "types-annotated",
  payload: { type: "object" },
  run: (payload: { n: number }) => payload.n,
});
isTrue<Equal<InputOf<typeof annotated>, { n: number }>>();

const bare = task({ id: "types-bare", run: () => "done" });

const chat = actor({
  id: "types-chat",
  input: z.object({ text: z.string() }),
  run: async () => "done",
});

/** For the compiler alone: what is inferred, and what is refused. */
async function check(client: Client): Promise<void> {
  const run = await client.tasks.start(report, { path: "." });
  isTrue<Equal<typeof run.output, { files: number } | null>>();
  isTrue<Equal<typeof run, RunOf<typeof report>>>();
  await client.tasks.start<typeof report>("types-report", { path: ".", depth: 1 }, { tags: ["x"] });
  await client.tasks.start(bare);
  await client.tasks.start("any-name");
  await client.tasks.start("any-name", { anything: true });
  const ended = await client.runs.wait(run);
  isTrue<Equal<typeof ended, typeof run>>();

  // @ts-expect-error the payload is required
  await client.tasks.start(report);
  // @ts-expect-error a path is text
  await client.tasks.start(report, { path: 1 });
  // @ts-expect-error a path is text, by name too
  await client.tasks.start<typeof report>("types-report", { path: 1 });
  // @ts-expect-error n is a number
  await client.tasks.start(annotated, { n: "1" });
  // @ts-expect-error no such option
  await client.tasks.start(bare, undefined, { retries: 3 });

  // @ts-expect-error a duration has a unit
  task({ id: "types-duration", maxDuration: "5 minutes", run: () => 1 });
  // @ts-expect-error an id is needed
  task({ run: () => 1 });
}

/** For the compiler alone, too. */
async function checkSessions(client: Client): Promise<void> {
  await client.actors.start(chat, { text: "Hello" }, { session: { externalId: "x" } });
  await client.actors.start<typeof chat>("chat", { text: "Hello" });
  await client.actors.start("any-name", 1);
  await client.sessions.create({ actor: chat, externalId: "x", expiresAt: null });
  await client.sessions.startAndWait({ task: report, payload: { path: "." }, timeout: "1m" });
  for await (const record of client.sessions.open("x").output<{ piece: string }>("output")) {
    isTrue<Equal<typeof record, RecordOf<{ piece: string }>>>();
    isTrue<Equal<typeof record.data.piece, string>>();
  }
  await client.tokens.complete("tok_1", { approved: true });
  await client.publicAccessTokens.create({ type: "session.input.send", session: { externalId: "x" } });

  // @ts-expect-error a text is text
  await client.actors.start(chat, { text: 1 });
  // @ts-expect-error a session runs one thing
  await client.sessions.create({ actor: chat, task: report });
  // @ts-expect-error a session runs something
  await client.sessions.create({ externalId: "x" });
  // @ts-expect-error no such permission
  await client.publicAccessTokens.create({ type: "session.input.read", session: "x" });
  // @ts-expect-error a duration has a unit
  await client.tokens.create({ timeout: "5" });
}

test("the types of a task are those of its schema or of its run function", () => {
  // The compiler has checked them, or this file would not have passed it.
  void [check, checkSessions];
});
