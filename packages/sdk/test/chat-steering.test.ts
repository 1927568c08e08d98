// Messages to a chat that do not wait until its answer is whole.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ChatActorOptions } from "@keelson/sdk/ai";
import { followOthers, KeelsonChatTransport } from "@keelson/sdk/ai/client";
import { tool, type UIMessage } from "ai";
import { z } from "zod";
import { until } from "../../server/test/support/until.ts";
import { readPrompt, scriptedModel } from "./support/chat-model.ts";
import { ChatPage } from "./support/chat-page.ts";
import { startConversation } from "./support/start-conversation.ts";
import { testWorker } from "./support/test-worker.ts";

const textOf = ({ parts }: UIMessage): string =>
  parts.map((part) => ("text" in part ? part.text : part.type)).join("|");

/** An agent that looks at one server after the other, each when it is told to go on, and what its model was asked. */
function looking() {
  const asked: string[][] = [];
  let looks = 0;
  const goOn: (() => void)[] = [];
  const look = tool({
    inputSchema: z.object({}),
    execute: async () => {
      looks += 1;
      await new Promise<void>((next) => void goOn.push(next));
      return `server ${looks} is up`;
    },
  });
  const model = scriptedModel((prompt) => {
    asked.push(readPrompt(prompt));
    const said = asked.at(-1)?.findLast((line) => line.startsWith("user: "));
    return said === "user: Look at all" ? { text: "Next.", calls: { look: {} } } : { text: `Heard: ${said}` };
  });
  const options: Omit<ChatActorOptions, "id"> = { model, tools: { look } };
  return { options, asked, looks: () => looks, goOn: () => goOn.shift()?.() };
}

async function open(options: Omit<ChatActorOptions, "id">) {
  const { connect, end } = await startConversation(options);
  const transport = new KeelsonChatTransport({ connect });
  return { page: new ChatPage(transport, await transport.load()), transport, end };
}

const eventually = (what: string, holds: () => boolean): Promise<void> =>
  until(what, 60_000, async () => {
    await (await testWorker()).renew();
    return holds();
  });

describe("a message that steers", () => {
  test("is answered when the tools have given what they give, and the model knows all of it", async (t) => {
    const { options, asked, looks, goOn } = looking();
    const { page, transport, end } = await open(options);
    const left = new AbortController();
    t.after(() => left.abort());
    const following = followOthers(page, transport, left.signal);
    const sent = page.sendMessage({ text: "Look at all" });
    await eventually("it looks", () => looks() === 1);
    goOn();
    await eventually("it looks once more", () => looks() === 2);
    await transport.steer("That is enough");
    goOn();
    await sent;
    await eventually("it is answered", () => page.status === "ready" && page.messages.length === 4);
    const expected = [
      "Look at all",
      "step-start|Next.|tool-look|step-start|Next.|tool-look",
      "That is enough",
      "step-start|Heard: user: That is enough",
    ];
    assert.deepEqual(page.messages.map(textOf), expected);
    assert.deepEqual(asked.at(-1)?.slice(-2), [
      'tool: look = {"type":"text","value":"server 2 is up"}',
      "user: That is enough",
    ]);
    assert.deepEqual((await transport.load()).map(textOf), expected);
    assert.deepEqual([looks(), asked.length], [2, 3]);
    left.abort();
    await following;
    assert.deepEqual(await end(), { answers: 2 });
  });

  test("is a message like any other where nothing is written, and others do not steer", async () => {
    const { options, looks, goOn } = looking();
    const { page, transport, end } = await open(options);
    await transport.steer({ id: "own", role: "user", parts: [{ type: "text", text: "Hello" }] });
    let messages: UIMessage[] = [];
    const isSaid = async (count: number): Promise<void> =>
      until(`there are ${count} messages`, 60_000, async () => {
        await (await testWorker()).renew();
        messages = await transport.load();
        return messages.length === count;
      });
    await isSaid(2);
    assert.deepEqual([messages[0]?.id, messages.map(textOf)[1]], ["own", "step-start|Heard: user: Hello"]);
    page.messages = messages;
    void page.sendMessage({ text: "Look at all" });
    await eventually("it looks", () => looks() === 1);
    const other = new ChatPage(transport, []);
    void other.sendMessage({ text: "And how are you?" });
    await eventually("the other waits", () => other.status === "submitted");
    goOn();
    await eventually("it looks once more", () => looks() === 2);
    await transport.interrupt();
    goOn();
    await isSaid(6);
    assert.equal(messages.map(textOf)[5], "step-start|Heard: user: And how are you?");
    await end();
  });

  test("is each message of an actor that declares it, and one that is to wait does", async () => {
    const { options, asked, looks, goOn } = looking();
    const { page, transport, end } = await open({ ...options, whileBusy: "steer" });
    void page.sendMessage({ text: "Look at all" });
    await eventually("it looks", () => looks() === 1);
    const other = new ChatPage(transport, []);
    void other.sendMessage({ text: "Enough" });
    await eventually("the other waits", () => other.status === "submitted");
    goOn();
    await eventually("the other is answered", () => other.status === "ready");
    assert.deepEqual(asked.at(-1)?.at(-1), "user: Enough");
    assert.equal(looks(), 1);
    await end();
  });
});
