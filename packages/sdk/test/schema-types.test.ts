import assert from "node:assert/strict";
import { test } from "node:test";
import {
  actor,
  Client,
  DataInvalidError,
  sessions,
  task,
  tokens,
  type EmittedOf,
  type RecordOf,
  type RunOf,
} from "@keelson/sdk";
import { completeToken, createSessionClient } from "@keelson/sdk/browser";
import { z } from "zod";
import { declare, failureOf, outputOf, runOf } from "./support/declare.ts";
import { testWorker } from "./support/test-worker.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const isTrue = <T extends true>(): T | undefined => undefined;

const Approval = z.object({ approved: z.boolean(), at: z.coerce.date<string>() });

const report = task({
  id: "schema-report",
  payload: z.object({ path: z.string() }),
  run: ({ path }) => ({ files: path.length }),
});
const counted = task({
  id: "schema-counted",
  payload: z.object({ n: z.coerce.number<string>().min(1), unit: z.string() }),
  run: ({ n, unit }) => `${n + 1} ${unit}`,
});
const bare = task({ id: "schema-bare", run: () => "done" });

const chat = actor({
  id: "schema-chat",
  input: z.object({ text: z.string() }),
  output: z.object({ piece: z.string(), at: z.coerce.date<string | Date>() }),
  run: async (session) => {
    await session.output.append({ piece: "Hello", at: new Date(0) });
    // @ts-expect-error a piece is text
    await session.output.append({ piece: 1, at: new Date(0) }).catch(() => undefined);
    await session.output("other").append(1);
    const typed = session.output("typed", z.number());
    await typed.append(1);
    // @ts-expect-error a number is no text
    await typed.append("1").catch(() => undefined);
  },
});
isTrue<Equal<EmittedOf<typeof chat>, { piece: string; at: string }>>();

/** For the compiler alone: a batch that names its task is held against the type that it is given. */
async function checkNamed(client: Client): Promise<void> {
  const byName = await client.tasks.startBatch<typeof report>([
    { task: "schema-report", payload: { path: "." }, tags: ["a"] },
  ]);
  isTrue<Equal<NonNullable<(typeof byName)[number]["run"]>["output"], { files: number } | null>>();
  // @ts-expect-error a path is text
  await client.tasks.startBatch<typeof report>([{ task: "schema-report", payload: { path: 1 } }]);
  // @ts-expect-error the payload is required
  await client.tasks.startBatch<typeof report>([{ task: "schema-report" }]);
}

/** For the compiler alone: what is inferred, and what is refused. */
async function check(client: Client): Promise<void> {
  const [first, second, third] = await client.tasks.startBatch([
    { task: report, payload: { path: "." }, tags: ["a"] },
    { task: bare },
    { task: "any-name", payload: 1 },
  ]);
  if (first.run !== null) isTrue<Equal<typeof first.run, RunOf<typeof report>>>();
  if (second.run !== null) isTrue<Equal<typeof second.run.output, string | null>>();
  if (third.run !== null) isTrue<Equal<typeof third.run.output, unknown>>();
  const many = await client.tasks.startBatch(["a", "b"].map((path) => ({ task: report, payload: { path } })));
  isTrue<Equal<NonNullable<(typeof many)[number]["run"]>["output"], { files: number } | null>>();
  // @ts-expect-error the payload is required
  await client.tasks.startBatch([{ task: report }]);
  // @ts-expect-error a path is text
  await client.tasks.startBatch([{ task: bare }, { task: report, payload: { path: 1 } }]);

  await client.sessions.create({ actor: chat, input: { text: "Hello" } });
  await client.sessions.create({ task: report, payload: { path: "." } });
  // @ts-expect-error a text is text
  await client.sessions.create({ actor: chat, input: { text: 1 } });
  // @ts-expect-error a path is text
  await client.sessions.startAndWait({ task: report, payload: { path: 1 } });

  const opened = client.sessions.open<typeof chat>("sess_1");
  await opened.send({ text: "Hello" });
  await opened.send({ command: "stop" }, { stream: "control" });
  await opened.sendBatch([{ data: { text: "Hello" } }]);
  for await (const record of opened.output())
    isTrue<Equal<typeof record, RecordOf<{ piece: string; at: string }>>>();
  for await (const record of opened.input()) isTrue<Equal<typeof record.data, { text: string }>>();
  for await (const record of opened.output("other")) isTrue<Equal<typeof record.data, unknown>>();
  // @ts-expect-error a text is text
  await opened.send({ text: 1 });
  // @ts-expect-error a text is text
  await opened.sendBatch([{ data: { text: 1 } }]);
  await client.sessions.send<typeof chat>("sess_1", { text: "Hello" });
  // @ts-expect-error a text is text
  await client.sessions.send<typeof chat>("sess_1", { text: 1 });
  await sessions.send<typeof chat>("sess_1", { text: "Hello" });
  // @ts-expect-error a text is text
  await sessions.send<typeof chat>("sess_1", { text: 1 });

  const page = createSessionClient<typeof chat>({ url: "http://x", token: "t", session: { id: "sess_1" } });
  await page.send("input", { text: "Hello" });
  await page.send("control", 1);
  for await (const record of page.output("output")) isTrue<Equal<typeof record.data.piece, string>>();
  // @ts-expect-error a text is text
  await page.send("input", { text: 1 });

  const token = await tokens.create({ schema: Approval, timeout: "1h" });
  isTrue<Equal<Awaited<ReturnType<typeof token.wait>>, { approved: boolean; at: Date }>>();
  const data = await tokens.wait("tok_1", { schema: Approval });
  isTrue<Equal<typeof data, { approved: boolean; at: Date }>>();
  await client.tokens.complete("tok_1", { approved: true, at: "2026-11-22" }, { schema: Approval });
  await client.tokens.complete<typeof Approval>("tok_1", { approved: true, at: "2026-11-22" });
  // @ts-expect-error approved is a boolean
  await client.tokens.complete("tok_1", { approved: "yes", at: "2026-11-22" }, { schema: Approval });
  const completion = { url: "http://x", id: "tok_1", publicAccessToken: "t" };
  await completeToken<typeof Approval>({ ...completion, data: { approved: true, at: "2026-11-22" } });
  // @ts-expect-error approved is a boolean
  await completeToken<typeof Approval>({ ...completion, data: { approved: 1, at: "2026-11-22" } });
}

test("an append that does not fit the actor's output is refused, and readers get what fits", async () => {
  void check;
  void checkNamed;
  const { run, ended } = runOf({ kind: "actor", id: chat.id });
  outputOf(await ended());
  const streams = await Promise.all(["output", "other", "typed"].map((name) => run.records("outputs", name)));
  assert.deepEqual(
    streams.flat().map(({ stream, data }) => [stream, data]),
    [
      ["output", { piece: "Hello", at: "1970-01-01T00:00:00.000Z" }],
      ["other", 1],
      ["typed", 1],
    ],
  );
});

test("a payload is sent as its schema takes it, also where the schema coerces, and the rest of it is checked", async () => {
  const { ended } = runOf({ kind: "task", id: counted.id }, { payload: { n: "7", unit: "m" } });
  assert.equal(outputOf(await ended()), "8 m");
  const { server } = await testWorker();
  const client = new Client({ url: server.url, apiKey: server.credentials.api_key });
  await assert.rejects(client.tasks.start(counted, { n: "7" } as never), /payload/);
});

test("a token's data has the type of its schema, and data that does not fit fails the run for good", async () => {
  const code = () =>
    declare(async () => {
      const { wait } = await tokens.create({ schema: Approval });
      const { approved, at } = await wait();
      return [approved, at.getTime()];
    });
  const fitting = code();
  // Its process dies when the code has ended, so that the next one replays all of it.
  const first = fitting.start({ dieAt: "end" });
  await first.parked();
  const data = { approved: true, at: "1970-01-01T00:00:00.005Z" };
  await fitting.run.completeToken(await fitting.run.effectId("token"), data);
  assert.equal(await first.ended, null);
  assert.deepEqual(outputOf(first.result), [true, 5]);
  assert.deepEqual(outputOf(await fitting.ended()), [true, 5]);

  const odd = code();
  const second = odd.start();
  await second.parked();
  await odd.run.completeToken(await odd.run.effectId("token"), { approved: "yes", at: "1970-01-01" });
  const failure = failureOf(await second.ended);
  assert.match(failure.message, /The data of the token tok_\w+ does not fit its schema: approved: /);
  assert.equal(failure.retryable, false);
});

test("a completion that does not fit the schema is refused by the client and by the page before it is sent", async () => {
  const { server } = await testWorker();
  const client = new Client({ url: server.url, apiKey: server.credentials.api_key });
  const { id, publicAccessToken } = await client.tokens.create();
  const odd = { approved: "yes", at: "1970-01-01" } as never;
  await assert.rejects(client.tokens.complete(id, odd, { schema: Approval }), DataInvalidError);
  const page = { url: server.url, id, publicAccessToken, schema: Approval };
  await assert.rejects(completeToken({ ...page, data: odd }), DataInvalidError);
  assert.equal((await client.tokens.get(id)).status, "pending");
  await completeToken({ ...page, data: { approved: true, at: "1970-01-01" } });
  assert.deepEqual((await client.tokens.get(id)).data, { approved: true, at: "1970-01-01" });
});
