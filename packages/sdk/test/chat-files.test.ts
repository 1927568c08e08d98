// Files in a chat of the AI SDK: a page attaches one, and the model is given its content.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { KeelsonChatTransport } from "@keelson/sdk/ai/client";
import { PermissionError, UsageError } from "@keelson/sdk/client";
import { scriptedModel } from "./support/chat-model.ts";
import { ChatPage } from "./support/chat-page.ts";
import { startConversation } from "./support/start-conversation.ts";

const PICTURE = Uint8Array.from({ length: 300_000 }, (_, at) => (at * 11) % 256);

/** What the model was given of files, and of texts. */
function givenIn(prompt: LanguageModelV4Prompt): unknown[] {
  return prompt.flatMap(({ role, content }) =>
    role !== "user"
      ? []
      : content.map((part) => (part.type === "file" ? part : part.type === "text" ? part.text : null)),
  );
}

async function startChat() {
  const prompts: LanguageModelV4Prompt[] = [];
  const { connect, end } = await startConversation({
    model: scriptedModel((prompt) => {
      prompts.push(prompt);
      return { text: "I see." };
    }),
  });
  const transport = new KeelsonChatTransport({ connect });
  return { prompts, end, transport, connect, page: new ChatPage(transport, await transport.load()) };
}

describe("a page of a chat", () => {
  test("attaches a picture, which the model is given, and each page can show", async () => {
    const { prompts, end, transport, connect, page } = await startChat();
    const part = await transport.attach(new File([PICTURE], "receipt.png", { type: "image/png" }));
    assert.match(part.url, /^keelson:file_/);
    assert.deepEqual([part.type, part.mediaType, part.filename], ["file", "image/png", "receipt.png"]);
    await page.sendMessage({ text: "What is this?", files: [part] });
    await page.sendMessage({ text: "And now?" });
    assert.equal(page.status, "ready", String(page.error));
    for (const prompt of prompts) {
      const given = givenIn(prompt).find((one) => typeof one === "object") as Record<string, unknown>;
      assert.deepEqual([given["mediaType"], given["filename"]], ["image/png", "receipt.png"]);
      const text = JSON.stringify(given["data"]);
      assert.ok(text.includes(Buffer.from(PICTURE).toString("base64").slice(0, 400_000)), text.slice(0, 200));
    }
    assert.equal(prompts.length, 2);

    const other = new KeelsonChatTransport({ connect });
    const [first] = await other.load();
    const shown = first?.parts.find(({ type }) => type === "file");
    assert.ok(shown?.type === "file");
    const blob = await other.openFile(shown);
    assert.equal(blob.type, "image/png");
    assert.ok(Buffer.from(await blob.arrayBuffer()).equals(PICTURE));
    await end();
  });

  test("is given a page or drawing as bytes of no named type, which no browser runs", async () => {
    const { end, transport } = await startChat();
    for (const mediaType of ["text/html", "image/svg+xml"]) {
      const part = await transport.attach("<svg/>", { mediaType });
      assert.equal(part.mediaType, mediaType);
      assert.equal((await transport.openFile(part)).type, "application/octet-stream");
    }
    const elsewhere = { url: "https://example.com/a.png", mediaType: "image/png" };
    await assert.rejects(transport.openFile(elsewhere), UsageError);
    await end();
  });

  test("can name a file that is not there, of another conversation too, and the chat goes on", async () => {
    const { prompts, end, transport, page } = await startChat();
    const other = await startChat();
    const foreign = await other.transport.attach("theirs", { mediaType: "text/plain" });
    await assert.rejects(transport.openFile(foreign), PermissionError);
    await page.sendMessage({ text: "Look.", files: [foreign] });
    assert.equal(page.status, "ready", String(page.error));
    assert.deepEqual(
      givenIn(prompts[0] as LanguageModelV4Prompt)
        .map(String)
        .toSorted(),
      ["(A file that is not there.)", "Look."],
    );
    await Promise.all([end(), other.end()]);
  });

  test("can link to what is gone or is no file, and the chat goes on, then and later", async () => {
    const { prompts, end, page } = await startChat();
    // Nothing is downloaded from the machine of the worker.
    const urls = ["http://127.0.0.1:9/a.png", "http://[::1]:9/b.png"];
    const others = [
      "keelson:file_nope",
      "no URL",
      "data:image/png;base64,%%%",
      "data:image/png",
      "file:///etc/passwd",
    ];
    const files = [...urls, ...others].map((url) => ({ type: "file", mediaType: "image/png", url }) as const);
    await page.sendMessage({ text: "Look.", files });
    await page.sendMessage({ text: "And now?" });
    assert.equal(page.status, "ready", String(page.error));
    assert.equal(prompts.length, 2);
    for (const prompt of prompts) {
      const given = givenIn(prompt).map(String);
      assert.deepEqual(given.filter((text) => text.startsWith("(")).toSorted(), [
        ...urls.map(() => "(A file that could not be read.)"),
        ...others.map(() => "(A file that is not there.)"),
      ]);
    }
    await end();
  });
});
