import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, before, describe, test } from "node:test";
import type { AxeResults } from "axe-core";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { launchChromium, WITHOUT_CHROMIUM } from "../../../packages/sdk/test/support/chromium.ts";
import { until } from "../../../packages/server/test/support/until.ts";
import { startWeb } from "../src/web/start-web.ts";
import { shareExample, type Example } from "./support/shared-example.ts";

const axePath = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const TIMEOUT_MS = 60_000;
/** The smallest picture there is. */
const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

let example: Example;
let web: Awaited<ReturnType<typeof startWeb>>;
let browser: Browser;
const contexts: BrowserContext[] = [];
const faults: string[] = [];

/** The tabs of a visitor of their own. `isChecked`: the page's policy lets a script in that checks it. */
async function openBrowser(isChecked = false): Promise<() => Promise<Page>> {
  const context = await browser.newContext({ bypassCSP: isChecked, colorScheme: "light" });
  contexts.push(context);
  return async () => {
    const page = await context.newPage();
    page.setDefaultTimeout(TIMEOUT_MS);
    page.on("console", (message) => {
      // A request may be cut by a reload.
      const isFault = message.type() === "error" && !message.text().startsWith("Failed to load resource");
      if (isFault) faults.push(message.text());
    });
    page.on("pageerror", (error) => faults.push(String(error)));
    await page.goto(web.url);
    await page.getByLabel("Your message").waitFor();
    return page;
  };
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel("Your message").fill(text);
  await page.getByLabel("Your message").press("Enter");
}

const click = (page: Page, name: string): Promise<void> =>
  page.getByRole("button", { name, exact: true }).click();

/** What was said and answered, without the calls of tools. */
const texts = (page: Page): Promise<string[]> => page.locator(".messages .text").allTextContents();

/** Waits until nothing is being written and the last text is this. */
async function shows(page: Page, last: RegExp): Promise<void> {
  let seen: string[] = [];
  await until(`the page shows ${last}`, TIMEOUT_MS, async () => {
    seen = await texts(page);
    const isReady = await page.getByRole("button", { name: "Send", exact: true }).isVisible();
    return isReady && last.test(seen.at(-1) ?? "");
  }).catch((error: unknown) => {
    throw new Error(`The page shows ${JSON.stringify(seen)}`, { cause: error });
  });
}

/** Waits until a tab shows what another one shows. */
const untilSame = (page: Page, other: Page): Promise<void> =>
  until("both tabs show the same", TIMEOUT_MS, async () => {
    const [mine, theirs] = [await texts(page), await texts(other)];
    return mine.length > 0 && JSON.stringify(mine) === JSON.stringify(theirs);
  });

/** Waits until an answer has so many words. */
const counts = (page: Page, beginning: RegExp): Promise<void> =>
  until("the assistant counts", TIMEOUT_MS, async () => beginning.test((await texts(page)).at(-1) ?? ""));

const upTo = (last: number): string => Array.from({ length: last }, (_, at) => at + 1).join(" ");

async function checkAccessibility(page: Page): Promise<void> {
  await page.addScriptTag({ path: axePath });
  const { violations } = (await page.evaluate("axe.run()")) as AxeResults;
  assert.deepEqual(
    violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]),
    [],
  );
}

describe("the page in a browser", { skip: WITHOUT_CHROMIUM, timeout: 300_000 }, () => {
  before(async () => {
    example = await shareExample();
    web = await startWeb({ url: example.url, apiKey: example.apiKey, port: 0 });
    browser = await launchChromium();
  });
  after(async () => {
    for (const context of contexts) await context.close();
    await browser?.close();
    await web?.stop();
  });

  test("an answer goes on after a reload in its middle, and another tab shows the same bytes", async () => {
    const openTab = await openBrowser();
    const [page, other] = [await openTab(), await openTab()];
    await say(page, "count to 200");
    await counts(page, /^1 2 3 /);
    await page.reload();
    await page.getByLabel("Your message").waitFor();
    await Promise.all([shows(page, / 200$/), shows(other, / 200$/)]);
    assert.deepEqual(await texts(page), ["count to 200", upTo(200)]);
    assert.deepEqual(await texts(other), await texts(page));
    await page.reload();
    await shows(page, / 200$/);
    assert.deepEqual(await texts(page), ["count to 200", upTo(200)]);
  });

  test("an answer is stopped, and its question is edited and asked again", async () => {
    const openTab = await openBrowser();
    const page = await openTab();
    await say(page, "count to 2000");
    await counts(page, /^1 2 3 /);
    await click(page, "Stop");
    await page.getByRole("button", { name: "Send", exact: true }).waitFor();
    assert.doesNotMatch((await texts(page)).at(-1) ?? "", / 2000$/);
    await page.locator(".theirs").getByText("Stopped", { exact: true }).waitFor();
    const other = await openTab();
    await other.locator(".theirs").getByText("Stopped", { exact: true }).waitFor();
    await click(page, "Edit");
    await page.getByLabel("Edited message").fill("count to 3");
    await click(page, "Send again");
    await shows(page, /^1 2 3$/);
    await untilSame(other, page);
    assert.deepEqual(await texts(page), ["count to 3", "1 2 3"]);
    await click(page, "Try again");
    await shows(page, /^1 2 3$/);
    await page.reload();
    await shows(page, /^1 2 3$/);
    assert.deepEqual(await texts(page), ["count to 3", "1 2 3"]);
  });

  test("a message waits in the queue until the answer is whole", async () => {
    const page = await (await openBrowser())();
    await say(page, "count to 400");
    await counts(page, /^1 2 3 /);
    await page.getByLabel("Your message").fill("What did I say first?");
    await click(page, "Queue");
    await page.getByRole("list", { name: "Queued messages" }).getByText("What did I say first?").waitFor();
    await shows(page, /^The first thing you said was “count to 400”\.$/);
    assert.equal((await texts(page))[1], upTo(400));
    assert.equal(await page.getByRole("list", { name: "Queued messages" }).count(), 0);
  });

  test("an approval is given in another tab, and a denial leaves everything as it is", async () => {
    const openTab = await openBrowser();
    const [page, other] = [await openTab(), await openTab()];
    await say(page, "restart web");
    await other.getByRole("group", { name: /^restart: Waits for your approval/ }).waitFor();
    await click(other, "Approve");
    await Promise.all([page, other].map((tab) => shows(tab, /^Done: web has been restarted\.$/)));
    assert.equal(await page.getByRole("button", { name: "Approve" }).count(), 0);
    await say(page, "restart mail");
    await click(page, "Deny");
    assert.equal(await page.evaluate("document.activeElement.id"), "text");
    await shows(page, /^All right, I have left everything as it is\.$/);
    await page.getByRole("group", { name: "restart: Denied" }).waitFor();
  });

  test("files are sent along, and those that are too large are refused in a sentence", async () => {
    const page = await (await openBrowser())();
    const attach = page.getByLabel("Attach files");
    await attach.setInputFiles({
      name: "big.txt",
      mimeType: "text/plain",
      buffer: Buffer.alloc(200_000, "x"),
    });
    await page.getByRole("alert").getByText("The files are too large.").waitFor();
    await attach.setInputFiles({ name: "pixel.png", mimeType: "image/png", buffer: PIXEL });
    await attach.setInputFiles({ name: "list.txt", mimeType: "text/plain", buffer: Buffer.from("To do\n") });
    await page.getByRole("button", { name: "Remove list.txt" }).waitFor();
    await say(page, "What are these?");
    const png = `pixel\\.png has the type image/png and ${PIXEL.length} bytes\\.`;
    await shows(page, new RegExp(`^${png} list\\.txt .* begins with “To do”\\.$`));
    await page.reload();
    await page.getByRole("img", { name: "pixel.png" }).waitFor();
    const width = "document.querySelector('.messages img').naturalWidth";
    await until("the picture is shown", TIMEOUT_MS, async () => (await page.evaluate(width)) === 1);
  });

  test("the coding agent is steered, and its project passes its tests", async () => {
    const page = await (await openBrowser())();
    await page.getByRole("link", { name: "Coding agent" }).click();
    await page.getByLabel("Your message").waitFor();
    await say(page, "Fix the tests");
    await page.getByRole("group", { name: /^write_file: Waits for your approval/ }).waitFor();
    await page.getByLabel("Your message").fill("What have you done so far?");
    await click(page, "Steer");
    await until(
      "it is sent",
      TIMEOUT_MS,
      async () => (await page.getByLabel("Your message").inputValue()) === "",
    );
    await click(page, "Approve");
    await shows(page, /^So far I have used 4 tools, and written 1 times\./);
    await say(page, "Go on");
    await click(page, "Approve");
    await shows(page, /^All tests pass\.$/);
    await click(page, "New chat");
    await until("it is empty", TIMEOUT_MS, async () => (await texts(page)).length === 0);
  });

  test("it can be used without seeing or pointing, in the light and in the dark, and fits a phone", async () => {
    const page = await (await openBrowser(true))();
    await say(page, "why is db slow?");
    await shows(page, /0\.83\.$/);
    assert.match((await page.locator("main [role=status]").first().textContent()) ?? "", /0\.83\.$/);
    await say(page, "restart db");
    await page.getByRole("button", { name: "Approve" }).waitFor();
    await checkAccessibility(page);
    await page.emulateMedia({ colorScheme: "dark" });
    await page.setViewportSize({ width: 390, height: 700 });
    await checkAccessibility(page);
    assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 390);
    await page.getByRole("button", { name: "Deny" }).press("Enter");
    await shows(page, /^All right/);
  });

  test("the page has no fault, and is given no API key", async () => {
    for (const path of ["/", "/chat.js", "/chat.css"]) {
      const served = await (await fetch(web.url + path)).text();
      assert.equal(served.includes(example.apiKey), false);
    }
    assert.deepEqual(faults, []);
  });
});
