// The hook of React in a real browser.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { build } from "esbuild";
import type { AnswerOptions } from "@keelson/sdk/ai";
import { tool } from "ai";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { z } from "zod";
import { until } from "../../server/test/support/until.ts";
import { scriptedModel } from "./support/chat-model.ts";
import { launchChromium, WITHOUT_CHROMIUM } from "./support/chromium.ts";
import { startConversation } from "./support/start-conversation.ts";
import { testWorker } from "./support/test-worker.ts";

const PAGE = `
import { KeelsonChatTransport } from "@keelson/sdk/ai/client";
import { useKeelsonChat } from "@keelson/sdk/ai/react";
import { useState } from "react";
import { createRoot } from "react-dom/client";

const connect = async () => (await fetch("/chat", { method: "POST" })).json();
const transport = new KeelsonChatTransport({ connect });
const messages = await transport.load();

function Part({ part, chat }) {
  if (part.type === "text") return <span>{part.text}</span>;
  if (!part.toolCallId) return null;
  if (part.state !== "approval-requested") return <em>{part.state} {part.output}</em>;
  return <button onClick={() => chat.approve(part.approval, { approved: true })}>Approve</button>;
}

function Chat() {
  const chat = useKeelsonChat({ transport, messages });
  const [text, setText] = useState("");
  const send = (event) => {
    event.preventDefault();
    chat.sendMessage({ text });
    setText("");
  };
  return (
    <main>
      <ol>
        {chat.messages.map((message) => (
          <li key={message.id} className={message.role}>
            {message.parts.map((part, at) => <Part key={at} part={part} chat={chat} />)}
            {message.metadata?.status}
          </li>
        ))}
      </ol>
      <output>{chat.status}{chat.error?.message}</output>
      <form onSubmit={send}><input aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} /></form>
      <button onClick={chat.stop}>Stop</button>
      <button onClick={() => chat.regenerate()}>Again</button>
    </main>
  );
}
createRoot(document.getElementById("page")).render(<Chat />);
`;

async function bundlePage(): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: PAGE, loader: "tsx", resolveDir: import.meta.dirname },
    bundle: true,
    platform: "browser",
    format: "esm",
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"' },
    conditions: ["@keelson/source"],
    write: false,
  });
  return outputFiles[0]?.text ?? "";
}

let browser: Browser;
let script: string;

/** A conversation, and pages of it in tabs of one browser. */
async function openTabs(options: AnswerOptions) {
  const { connect, end } = await startConversation(options);
  const server = createServer((request, response) => {
    const answer = async (): Promise<[string, string]> => {
      if (request.url === "/chat") return ["application/json", JSON.stringify(await connect())];
      if (request.url === "/page.js") return ["text/javascript; charset=utf-8", script];
      return ["text/html", '<div id="page"></div><script type="module" src="/page.js"></script>'];
    };
    answer().then(
      ([type, body]) => response.writeHead(200, { "content-type": type }).end(body),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  const context: BrowserContext = await browser.newContext();
  return {
    async openTab(): Promise<Page> {
      const page = await context.newPage();
      await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
      await page.getByLabel("Message").waitFor();
      return page;
    },
    async end(): Promise<void> {
      await context.close();
      server.closeAllConnections();
      server.close();
      await end();
    },
  };
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel("Message").fill(text);
  await page.getByLabel("Message").press("Enter");
}

const said = (page: Page): Promise<string[]> => page.locator("li").allTextContents();
const statusOf = (page: Page): Promise<string> => page.locator("output").innerText();

/** Waits for what a page shows, while the worker hears what the server says. */
const shows = (page: Page, lines: string[], status = "ready"): Promise<void> =>
  until(`the page shows ${JSON.stringify(lines)}`, 60_000, async () => {
    await (await testWorker()).renew();
    return JSON.stringify([await said(page), await statusOf(page)]) === JSON.stringify([lines, status]);
  });

describe("useKeelsonChat in Chromium", { skip: WITHOUT_CHROMIUM, timeout: 240_000 }, () => {
  before(async () => {
    [browser, script] = await Promise.all([launchChromium(), bundlePage()]);
  });
  after(() => browser.close());

  test("answers, after a reload too, and in another tab", async () => {
    const { openTab, end } = await openTabs({
      model: scriptedModel((prompt) => ({ text: `You said ${prompt.length} things.` })),
    });
    const [page, other] = [await openTab(), await openTab()];
    await say(page, "Hello");
    await shows(page, ["Hello", "You said 1 things."]);
    await shows(other, ["Hello", "You said 1 things."]);
    await say(other, "From the other tab");
    const all = ["Hello", "You said 1 things.", "From the other tab", "You said 3 things."];
    await Promise.all([shows(page, all), shows(other, all)]);
    await page.getByRole("button", { name: "Again" }).click();
    await Promise.all([shows(page, all), shows(other, all)]);
    await page.reload();
    await shows(page, all);
    await end();
  });

  test("approves in another tab, stops, and goes on after a reload in the middle", async () => {
    const { openTab, end } = await openTabs({
      model: scriptedModel((prompt) =>
        prompt.at(-1)?.role === "tool"
          ? { text: "And on and on ", hangs: true }
          : { text: "One moment. ", calls: { book: { at: "8" } } },
      ),
      tools: {
        book: tool({ inputSchema: z.object({ at: z.string() }), execute: ({ at }) => `booked at ${at}` }),
      },
      approval: ["book"],
    });
    const [page, other] = [await openTab(), await openTab()];
    await say(page, "Book");
    const waiting = ["Book", "One moment. Approve"];
    await Promise.all([shows(page, waiting, "streaming"), shows(other, waiting, "streaming")]);
    await page.reload();
    await shows(page, waiting, "streaming");
    await other.getByRole("button", { name: "Approve" }).click();
    const going = ["Book", "One moment. output-available booked at 8And on and on "];
    await Promise.all([shows(page, going, "streaming"), shows(other, going, "streaming")]);
    await other.getByRole("button", { name: "Stop" }).click();
    const cut = ["Book", `${going[1]}interrupted`];
    await shows(page, cut);
    await other.reload();
    await shows(other, cut);
    await end();
  });

  test("answers in ten tabs, of which one has the connection and may be closed", async () => {
    const { openTab, end } = await openTabs({
      model: scriptedModel((prompt) => ({ text: `answer to ${prompt.length}` })),
    });
    const tabs: Page[] = [];
    for (let n = 0; n < 10; n += 1) tabs.push(await openTab());
    const [first, ...rest] = tabs;
    const last = rest.at(-1) as Page;
    await say(last, "Hello");
    const answered = ["Hello", "answer to 1"];
    await Promise.all(tabs.map((tab) => shows(tab, answered)));
    await first?.close();
    await say(last, "Again");
    await say(last, "And again");
    const again = [...answered, "Again", "answer to 3", "And again", "answer to 5"];
    await Promise.all(rest.map((tab) => shows(tab, again)));
    await end();
  });
});
