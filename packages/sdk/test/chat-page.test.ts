// A chat as a page has it: `useChat` of the AI SDK, whose state is here without React.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import type { AnswerOptions } from "@keelson/sdk/ai";
import { followOthers, KeelsonChatTransport } from "@keelson/sdk/ai/client";
import { tool, type UIMessage } from "ai";
import { z } from "zod";
import { until } from "../../server/test/support/until.ts";
import { scriptedModel } from "./support/chat-model.ts";
import { ChatPage } from "./support/chat-page.ts";
import { startConversation } from "./support/start-conversation.ts";
import { STEP_MS, testWorker } from "./support/test-worker.ts";

// What a tool gave is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

/** Without what is undefined: nobody sees it. */
const toJson = (value: unknown): Json => JSON.parse(JSON.stringify(value));

/** A conversation, and pages of it. */
async function openConversation(options: AnswerOptions) {
  const { connect, ...conversation } = await startConversation(options);
  const openPage = async ({ queues = false } = {}): Promise<ChatPage> => {
    const transport = new KeelsonChatTransport({ connect });
    return new ChatPage(transport, await transport.load(), queues);
  };
  return { ...conversation, openPage };
}

const textOf = ({ parts }: UIMessage): string =>
  parts.map((part) => ("text" in part ? part.text : "")).join("");

const lastOf = ({ messages }: ChatPage): string =>
  textOf(messages.at(-1) ?? { id: "", role: "user", parts: [] });

/** Waits for it, while the worker hears what the server says. */
const eventually = (what: string, holds: () => boolean): Promise<void> =>
  until(what, 60_000, async () => {
    await (await testWorker()).renew();
    return holds();
  });

const partOf = (page: ChatPage): Json =>
  page.messages.at(-1)?.parts.find(({ type }) => type.startsWith("tool-"));

const bookTool = tool({
  inputSchema: z.object({ at: z.string() }),
  execute: ({ at }: { at: string }) => `booked at ${at}`,
});

/** Calls the tool, and says then what came of it. */
const booking = () =>
  scriptedModel((prompt) =>
    prompt.at(-1)?.role === "tool"
      ? { text: "All done." }
      : { text: "One moment.", calls: { book: { at: "8" } } },
  );

describe("a page", () => {
  test("sends a message, and has the answer word by word and after a reload", async () => {
    const { openPage, end, connections } = await openConversation({
      model: scriptedModel((prompt) => ({ text: `You said ${prompt.length} things.` })),
    });
    const page = await openPage();
    assert.deepEqual(page.messages, []);
    await page.sendMessage({ text: "Hello" });
    await page.sendMessage({ text: "Again" });
    assert.equal(page.status, "ready");
    assert.equal(lastOf(page), "You said 3 things.");
    const reloaded = await openPage();
    assert.deepEqual(toJson(reloaded.messages), toJson(page.messages));
    assert.equal(connections.length, 2);
    assert.deepEqual(await end(), { answers: 2 });
  });

  test("edits a message, and has it answered once more", async () => {
    const { openPage, end } = await openConversation({
      model: scriptedModel((prompt) => ({ text: `answer to ${prompt.length}` })),
    });
    const page = await openPage();
    await page.sendMessage({ text: "One" });
    await page.sendMessage({ text: "Two" });
    const [first] = page.messages;
    await page.sendMessage({ text: "Uno", messageId: (first as UIMessage).id });
    await page.regenerate();
    assert.deepEqual(page.messages.map(textOf), ["Uno", "answer to 1"]);
    const reloaded = await openPage();
    assert.deepEqual(toJson(reloaded.messages), toJson(page.messages));
    assert.deepEqual(await end(), { answers: 4 });
  });

  test("approves in one tab what was asked for in another, and both have the same", async () => {
    const options = { model: booking(), tools: { book: bookTool }, approval: ["book"] };
    const { openPage, end } = await openConversation(options);
    const page = await openPage();
    const sent = page.sendMessage({ text: "Book at 8" });
    await eventually("it asks", () => partOf(page)?.state === "approval-requested");
    const other = await openPage();
    const resumed = other.resumeStream();
    await eventually("the other tab shows it too", () => partOf(other)?.state === "approval-requested");
    assert.equal(await other.to.approve(partOf(other).approval, { approved: true }), true);
    assert.equal(await page.to.approve(partOf(page).approval, { approved: false }), false);
    await eventually("both are ready", () => page.status === "ready" && other.status === "ready");
    await Promise.all([sent, resumed]);
    assert.equal(partOf(page).output, "booked at 8");
    assert.equal(lastOf(page), "One moment.All done.");
    assert.deepEqual(toJson(other.messages), toJson(page.messages));
    assert.deepEqual(toJson((await openPage()).messages), toJson(page.messages));
    await end();
  });

  test("stops an answer, and sends the next message", async () => {
    let calls = 0;
    const { openPage, end } = await openConversation({
      model: scriptedModel(() =>
        (calls += 1) === 1 ? { text: "On and on ", hangs: true } : { text: "Sure." },
      ),
    });
    const page = await openPage();
    void page.sendMessage({ text: "Talk" });
    await eventually("it talks", () => lastOf(page) === "On and on ");
    await page.stop();
    assert.equal(page.status, "ready");
    const sent = page.sendMessage({ text: "Thanks" });
    await eventually("it is answered", () => lastOf(page) === "Sure.");
    await sent;
    const { messages } = await openPage();
    assert.deepEqual(messages.map(textOf), ["Talk", "On and on ", "Thanks", "Sure."]);
    assert.deepEqual(messages[1]?.metadata, { status: "interrupted" });
    await end();
  });

  test("says how an answer ended that it has stopped, as other tabs do", async (t) => {
    const { openPage, end } = await openConversation({
      model: scriptedModel(() => ({ text: "On and on ", hangs: true })),
    });
    const page = await openPage();
    const left = new AbortController();
    t.after(() => left.abort());
    const following = followOthers(page, page.to, left.signal);
    void page.sendMessage({ text: "Talk" });
    await eventually("it talks", () => lastOf(page) === "On and on ");
    await page.stop();
    await eventually("it is marked", () => page.messages.at(-1)?.metadata !== undefined);
    assert.deepEqual(page.messages.at(-1)?.metadata, { status: "interrupted" });
    assert.deepEqual(toJson((await openPage()).messages), toJson(page.messages));
    left.abort();
    await following;
    await end();
  });

  test("asks nobody any more when it was stopped, and what is said next is sent", async () => {
    const options = { model: booking(), tools: { book: bookTool }, approval: ["book"] };
    const { openPage, end } = await openConversation(options);
    const page = await openPage();
    const sent = page.sendMessage({ text: "Book at 8" });
    await eventually("it asks", () => partOf(page)?.state === "approval-requested");
    await page.to.interrupt();
    await sent;
    const part = partOf(page);
    assert.deepEqual(
      [part.state, part.errorText, part.input],
      ["output-error", "It was stopped before it was done.", { at: "8" }],
    );
    const reloaded = await openPage({ queues: true });
    assert.deepEqual(toJson(reloaded.messages), toJson(page.messages));
    // The AI SDK queues what is said while a call waits for a person.
    const next = reloaded.sendMessage({ text: "Book at 9" });
    await eventually("it asks again", () => partOf(reloaded)?.state === "approval-requested");
    assert.deepEqual(reloaded.experimental_queuedMessages, []);
    await reloaded.to.approve(partOf(reloaded).approval, { approved: true });
    await eventually("it is done", () => reloaded.status === "ready");
    await next;
    assert.equal(lastOf(reloaded), "One moment.All done.");
    await end();
  });

  test("stops an answer that has not begun, and it is cut at once when it does", async () => {
    const model = scriptedModel(({ length }) => ({ text: `On ${length} `, hangs: true }));
    const { openPage, end } = await openConversation({ model });
    const [first, second] = [await openPage(), await openPage()];
    void first.sendMessage({ text: "One" });
    await eventually("it talks", () => lastOf(first) === "On 1 ");
    void second.sendMessage({ text: "Two" });
    await eventually("the other waits", () => second.status === "submitted");
    await second.stop();
    await first.to.interrupt();
    let messages: UIMessage[] = [];
    await until("both are cut", 60_000, async () => {
      await (await testWorker()).renew();
      ({ messages } = await openPage());
      return messages.length === 4 && messages[3]?.metadata !== undefined;
    });
    assert.deepEqual(messages[3]?.metadata, { status: "interrupted" });
    await eventually("the first page knows", () => first.status === "ready");
    await end();
  });

  test("shows what another tab says, edits, and is answered", async (t) => {
    const { openPage, end } = await openConversation({
      model: scriptedModel((prompt) => ({ text: `answer to ${prompt.length}` })),
    });
    const [page, other] = [await openPage(), await openPage()];
    const left = new AbortController();
    t.after(() => left.abort());
    const following = followOthers(other, other.to, left.signal);
    const same = (): boolean =>
      other.status === "ready" && isDeepStrictEqual(toJson(other.messages), toJson(page.messages));
    await page.sendMessage({ text: "One" });
    await eventually("the other has it", same);
    await page.sendMessage({ text: "Two" });
    await page.sendMessage({ text: "Three" });
    await eventually("the other has both", same);
    await page.sendMessage({ text: "Uno", messageId: (page.messages[0] as UIMessage).id });
    await eventually("the other has the edit", same);
    await other.sendMessage({ text: "Hello from here" });
    left.abort();
    await following;
    assert.deepEqual(other.messages.map(textOf), ["Uno", "answer to 1", "Hello from here", "answer to 3"]);
    assert.deepEqual(toJson((await openPage()).messages), toJson(other.messages));
    await end();
  });

  test("is told when no answer can be had", async () => {
    const { openPage, end } = await openConversation({
      model: scriptedModel(() => ({ error: new Error("no credit") })),
      modelRetry: { maxAttempts: 1 },
      errorText: (error) => `The model says: ${(error as Error).message}`,
    });
    const page = await openPage();
    await page.sendMessage({ text: "Hello" });
    assert.equal(page.status, "error");
    assert.equal(page.error?.message, "The model says: no credit");
    assert.deepEqual(toJson((await openPage()).messages), toJson(page.messages));
    await end();
  });

  test("gets another token when its own has expired", async () => {
    const model = scriptedModel(() => ({ text: "Here." }));
    const { openPage, end, connections } = await openConversation({ model });
    const page = await openPage();
    await (await testWorker()).pass(STEP_MS);
    await page.sendMessage({ text: "Hello" });
    assert.equal(lastOf(page), "Here.");
    assert.ok(connections.length > 1);
    await end();
  });

  test("cannot send an answer", async () => {
    const { openPage, end } = await openConversation({ model: scriptedModel(() => ({ text: "Hi." })) });
    const page = await openPage();
    await page.sendMessage({ text: "Hello" });
    await page.sendMessage();
    assert.match(String(page.error?.message), /Use approve\(\) for approvals/);
    await end();
  });
});
