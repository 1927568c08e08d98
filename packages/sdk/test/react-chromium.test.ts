// The hooks of React in a real browser.

import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { build } from "esbuild";
import { Client } from "@keelson/sdk";
import { openRun, openSession } from "@keelson/sdk/server";
import type { Browser, Page } from "playwright-core";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { launchChromium, WITHOUT_CHROMIUM } from "./support/chromium.ts";

const PAGE = `
import { useRun, useSession, useToken } from "@keelson/sdk/react";
import { StrictMode, useState } from "react";
import { createRoot } from "react-dom/client";

const { run, session, approval } = await (await fetch("/targets")).json();

function Progress() {
  const [shown, setShown] = useState(null);
  // A function that is written here is a new one each time.
  const { run: watched, status } = useRun(shown && { ...shown, token: async () => shown.token });
  return (
    <p>
      <button onClick={() => setShown(run)}>Watch</button>
      <output aria-label="Run">{status} {watched?.status} {watched?.metadata.progress} {watched?.output}</output>
    </p>
  );
}

function Talk() {
  const { messages, send, status } = useSession({ ...session, session: { ...session.session } });
  return (
    <div>
      <ol>{messages.map((message) => <li key={message.id}>{message.text}</li>)}</ol>
      <button onClick={() => send("input", "Hello")}>Say hello</button>
      <output aria-label="Session">{status}</output>
    </div>
  );
}

function Approval() {
  const { status, complete } = useToken(approval);
  return <button onClick={() => complete({ approved: true })}>{status}</button>;
}

createRoot(document.getElementById("page")).render(<StrictMode><Progress /><Talk /><Approval /></StrictMode>);
`;

async function bundlePage(): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: PAGE, loader: "tsx", resolveDir: import.meta.dirname },
    ...{ bundle: true, platform: "browser", format: "esm", jsx: "automatic", write: false },
    define: { "process.env.NODE_ENV": '"development"' },
    conditions: ["@keelson/source"],
  });
  return outputFiles[0]?.text ?? "";
}

describe("hooks in Chromium", { skip: WITHOUT_CHROMIUM, timeout: 240_000 }, () => {
  let scene: RunScene;
  let client: Client;
  let browser: Browser;
  let server: Server;
  let page: Page;
  let targets: object = {};

  before(async () => {
    scene = await startRunScene({ tasks: [{ id: "plain" }], actors: [{ id: "chat" }] });
    client = new Client({ url: scene.server.url, apiKey: scene.server.credentials.api_key });
    const script = await bundlePage();
    server = createServer((request, response) => {
      const [type, body] =
        request.url === "/targets"
          ? ["application/json", JSON.stringify(targets)]
          : request.url === "/page.js"
            ? ["text/javascript; charset=utf-8", script]
            : ["text/html", '<div id="page"></div><script type="module" src="/page.js"></script>'];
      response.writeHead(200, { "content-type": type }).end(body);
    });
    await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
    browser = await launchChromium();
  });
  after(async () => {
    await browser?.close();
    server?.closeAllConnections();
    server?.close();
    await scene?.stop();
  });

  const runShows = (text: string): Promise<void> =>
    page.locator('output[aria-label="Run"]', { hasText: text }).waitFor();

  test("show a run, a session and a token, live", async () => {
    const { url } = scene.server;
    const lease = await scene.leased();
    const approval = await client.tokens.create();
    targets = {
      run: await openRun(client, { url, run: lease.fields.run_id }),
      session: await openSession(client, { url, actor: "chat", externalId: "page" }),
      approval: { url, id: approval.id, publicAccessToken: approval.publicAccessToken },
    };
    const turn = await scene.worker.takeOne();
    page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    await page.locator('output[aria-label="Session"]', { hasText: "live" }).waitFor();

    await page.getByRole("button", { name: "Watch" }).click();
    await runShows("live running");
    const changes = [{ op: "set", key: "progress", value: 0.5 }];
    await scene.worker.report(lease.operation("start"), lease.operation("metadata", { changes }));
    await runShows("live running 0.5");
    await scene.worker.report(lease.operation("release", { outcome: "succeeded", output: "sent" }));
    await runShows("ended succeeded 0.5 sent");

    await page.getByRole("button", { name: "Say hello" }).click();
    const outputs = { position: null, stream: "output", records: [{ data: "Good day" }] };
    await scene.worker.report(turn.operation("start"), turn.operation("outputs", outputs));
    await page.locator("li", { hasText: "Good day" }).waitFor();
    const { session } = targets as { session: { session: { id: string } } };
    const [said] = (await client.sessions.read(session.session.id, { direction: "input" })).records;
    assert.equal(said?.data, "Hello");

    await page.getByRole("button", { name: "open" }).click();
    await page.getByRole("button", { name: "completed" }).waitFor();
    assert.deepEqual((await client.tokens.get(approval.id)).data, { approved: true });
    await scene.cancelAll();
  });
});
