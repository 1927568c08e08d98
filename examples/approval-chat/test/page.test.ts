import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, before, describe, test } from "node:test";
import type { AxeResults } from "axe-core";
import type { Browser, BrowserContext, Page } from "playwright-core";
import type { Session } from "@keelson/sdk";
import type { SessionConnection } from "@keelson/sdk/server";
import { launchChromium, WITHOUT_CHROMIUM } from "../../../packages/sdk/test/support/chromium.ts";
import {
  startFaultProxy,
  type Fate,
  type FaultProxy,
} from "../../../packages/server/test/support/fault-proxy.ts";
import type { Everything } from "../../repository-report/test/support/start-everything.ts";
import { startWeb } from "../src/web/start-web.ts";
import { findAgent, startChat } from "./support/start-chat.ts";

const axePath = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const TIMEOUT_MS = 30_000;

let everything: Everything;
let proxy: FaultProxy;
let web: Awaited<ReturnType<typeof startWeb>>;
let browser: Browser;
let context: BrowserContext;
let page: Page;
const faults: string[] = [];
/** What becomes of the next connection that reads the output. */
let nextReader: Fate = "pass";

const text = () => page.getByLabel("Your message");
const answers = () => page.locator("li.theirs");
const bubbles = () => page.locator("#log > li").allTextContents();

async function say(message: string): Promise<void> {
  await text().fill(message);
  await text().press("Enter");
}

async function decide(name: "Approve" | "Refuse"): Promise<void> {
  await page.getByRole("button", { name, exact: true }).click();
}

const untilAnswered = (pattern: RegExp) =>
  page.locator('li.theirs[aria-busy="false"]').filter({ hasText: pattern }).waitFor();

async function findSession(): Promise<Session> {
  for await (const session of everything.client.sessions.list({ status: "open" })) return session;
  throw new Error("There is no conversation");
}

/** The wait for that has taken the run out of its process. */
async function untilSuspended(kind: "token" | "input"): Promise<void> {
  const { currentRunId: runId } = await findSession();
  let last: unknown;
  for await (const event of everything.client.runs.events(runId, { follow: true })) {
    if (event.kind === "wait.created") last = event.attributes["kind"];
    if (event.kind === "run.suspended" && last === kind) return;
  }
  throw new Error(`The run ended without being suspended for a ${kind}`);
}

/** Each text that the next answer has until it is complete. */
const watchAnswer = (): Promise<string[]> =>
  page.evaluate<string[]>(`(async () => {
    const before = document.querySelectorAll("li.theirs").length;
    const seen = [];
    for (;;) {
      await new Promise(requestAnimationFrame);
      const items = document.querySelectorAll("li.theirs");
      const item = items[items.length - 1];
      if (items.length === before) continue;
      const now = item.querySelector("p").textContent;
      if (now !== seen.at(-1)) seen.push(now);
      if (item.ariaBusy === "false") return seen;
    }
  })()`);

/** What is said of the connection from now on, in the page's `states`. */
const watchConnection = (): Promise<unknown> =>
  page.evaluate(`
    globalThis.states = [];
    const connection = document.querySelector("#connection");
    new MutationObserver(() => states.push(connection.textContent)).observe(connection, { childList: true });
  `);

async function checkAccessibility(): Promise<void> {
  await page.addScriptTag({ path: axePath });
  const { violations } = (await page.evaluate("axe.run()")) as AxeResults;
  assert.deepEqual(
    violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]),
    [],
  );
}

describe("the page in a browser", { skip: WITHOUT_CHROMIUM, timeout: 180_000 }, () => {
  before(async () => {
    everything = await startChat({ parkAfter: "0s", idleSeconds: 15, expiresAfterSeconds: 120 });
    proxy = await startFaultProxy(everything.url, ({ path }) => {
      if (!path.includes("/read")) return "pass";
      const fate = nextReader;
      nextReader = "pass";
      return fate;
    });
    web = await startWeb({ url: proxy.url, apiKey: everything.apiKey, port: 0 });
    browser = await launchChromium();
    // Its policy keeps scripts of others out, the one that checks accessibility among them.
    context = await browser.newContext({ colorScheme: "light", bypassCSP: true });
    page = await context.newPage();
    page.setDefaultTimeout(TIMEOUT_MS);
    page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
    page.on("pageerror", (error) => faults.push(String(error)));
    await page.goto(web.url);
  });
  after(async () => {
    await browser.close();
    await web.stop();
    await proxy[Symbol.asyncDispose]();
    await everything.stop();
  });

  test("an answer grows while it is written", async () => {
    await page.getByText("Live").waitFor();
    const watching = watchAnswer();
    await page.getByRole("button", { name: "What can you do?" }).click();
    const seen = await watching;
    assert.ok(seen.length > 5, JSON.stringify(seen));
    for (const [at, now] of seen.entries()) assert.ok(now.startsWith(seen[at - 1] ?? ""), now);
    assert.match(seen.at(-1) ?? "", /^I look after the servers\..*first\.$/);
    assert.equal(await page.locator("#announcer").textContent(), seen.at(-1));
  });

  test("an approval is given after the page and the worker were started anew", async () => {
    await say("Please delete the staging database.");
    await page
      .getByRole("group", { name: "Approval needed" })
      .getByText("delete the staging database")
      .waitFor();
    await untilSuspended("token");
    const before = await bubbles();
    assert.equal(before.length, 5);
    await page.reload();
    await page.getByRole("button", { name: "Approve" }).waitFor();
    assert.deepEqual(await bubbles(), before);

    const worker = (await findAgent(everything)) as number;
    process.kill(worker, "SIGKILL");
    await decide("Approve");
    await untilAnswered(/^Assistant: It is done: delete the staging database/);
    assert.notEqual(await findAgent(everything), worker);
    await page.getByRole("group", { name: "Approved" }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Approve" }).count(), 0);
    assert.equal(await page.evaluate("document.activeElement.id"), "text");
  });

  test("a refusal leaves everything as it is", async () => {
    await say("restart the mail server");
    await decide("Refuse");
    await untilAnswered(/I have left everything as it is/);
    await page.getByRole("group", { name: "Refused" }).waitFor();
  });

  test("a reader whose connection breaks in an answer shows all of it, once", async () => {
    // After the first words of the next answer: two of the message, and what the page has shown before comes again.
    const { records } = await everything.client.sessions.read((await findSession()).id, { limit: 200 });
    nextReader = { events: records.length + 6 };
    await page.reload();
    await page.getByText("Live").waitFor();
    await watchConnection();
    await say("Hello");
    await untilAnswered(/You said “Hello”\. I am a short script .* Try “delete the staging database”\.$/);
    assert.deepEqual(await page.evaluate("states"), ["Reconnecting", "Live"]);
    assert.equal(await answers().getByText("You said “Hello”").count(), 1);
  });

  test("an answer that is stopped ends there, and the next message is answered", async () => {
    await say("Tell me all of it");
    await page.locator('li.theirs[aria-busy="true"]').getByText("You said").waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.locator("li.turn").getByText("Stopped", { exact: true }).waitFor();
    assert.equal(await page.locator('li.theirs[aria-busy="true"]').count(), 0);
    assert.equal(await page.getByRole("button", { name: "Stop" }).count(), 0);
    assert.doesNotMatch((await answers().last().textContent()) ?? "", /database”\.$/);
    await say("Hello again");
    await untilAnswered(/You said “Hello again”/);
  });

  test("an answer that waits for an approval can be stopped", async () => {
    await say("delete the archive");
    await page.getByRole("button", { name: "Approve" }).waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByRole("group", { name: "Stopped: nothing is done" }).waitFor();
    // What became of the approval is said before the end of the answer.
    await page.locator("li.turn").getByText("Stopped", { exact: true }).nth(1).waitFor();
    assert.equal(await page.getByRole("button", { name: "Stop" }).count(), 0);
    assert.equal(await page.getByRole("button", { name: "Approve" }).count(), 0);
  });

  test("after a pause the next turn knows what was said before", async () => {
    const { currentRunId: runId } = await findSession();
    await everything.client.runs.wait(runId, { timeout: TIMEOUT_MS });
    await say("What did I say first?");
    await untilAnswered(
      /You have written 8 messages in this conversation\. The first one was “What can you do\?”/,
    );
    await page.getByText("Turn 2: a new run has taken over").waitFor();
  });

  test("it can be used without seeing or pointing, in the light and in the dark, and fits a phone", async () => {
    await say("stop the build server");
    await page.getByRole("button", { name: "Approve" }).waitFor();
    await checkAccessibility();
    await page.emulateMedia({ colorScheme: "dark" });
    await page.setViewportSize({ width: 320, height: 568 });
    await checkAccessibility();
    assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 320);
    await page.getByRole("button", { name: "Refuse" }).press("Enter");
    await page.getByRole("group", { name: "Refused" }).nth(1).waitFor();
  });

  test("the page has had public access tokens alone", async () => {
    const fromPage = proxy.seen.filter(({ headers }) => headers.origin !== undefined);
    assert.ok(fromPage.length > 10);
    for (const { method, path, headers } of fromPage) {
      assert.match(path, /^\/api\/v1\/(sessions|tokens)\//);
      if (method !== "OPTIONS") assert.match(headers.authorization ?? "", /^Bearer kl_(pub|tkn)_/);
    }
    for (const path of ["/", "/chat.js"]) {
      const served = await (await fetch(web.url + path)).text();
      assert.equal(served.includes(everything.apiKey), false);
    }
    assert.deepEqual(
      faults.filter((fault) => !fault.includes("ERR_INCOMPLETE_CHUNKED_ENCODING")),
      [],
    );
  });

  test("a visitor gets no token for the conversation of another", async () => {
    const { id } = await findSession();
    const stranger = await browser.newContext();
    const opened = await stranger.request.post(`${web.url}/conversation`);
    const { url, session, token } = (await opened.json()) as SessionConnection;
    assert.notEqual(session.id, id);
    const read = await stranger.request.get(`${url}/api/v1/sessions/${id}/outputs/output/read`, {
      headers: { authorization: `Bearer ${token}` },
    });
    assert.equal(read.status(), 403);
    await stranger.close();
  });

  test("a new conversation begins with nothing", async () => {
    await page.getByRole("button", { name: "New chat" }).click();
    await page.getByRole("button", { name: "What can you do?" }).waitFor();
    assert.deepEqual(await bubbles(), []);
    assert.equal(await answers().count(), 0);
  });
});
