// The console in headless Chromium, signed in by the link that the first start prints.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { launchChromium, WITHOUT_CHROMIUM } from "../../sdk/test/support/chromium.ts";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";

const AXE = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");
const options = { skip: WITHOUT_CHROMIUM, timeout: 120_000 };

describe("the console", options, () => {
  let scene: RunScene;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let runId: string;
  before(async () => {
    scene = await startRunScene({ tasks: [{ id: "report" }] });
    runId = (await scene.start("report", { payload: { week: 47 } })).id;
    browser = await launchChromium();
    context = await browser.newContext();
    page = await context.newPage();
    page.setDefaultTimeout(60_000);
  });
  after(async () => {
    await browser?.close();
    await scene?.stop();
  });

  const loginLink = (): string => {
    const { user_token, project_id, environment_id } = scene.server.credentials;
    const fragment = new URLSearchParams({ token: user_token, project_id, environment_id });
    return `${scene.server.url}/#${fragment.toString()}`;
  };
  const row = (id: string) => page.locator(`tr[data-run="${id}"]`);

  /** What axe finds wrong on the page as it is shown. */
  async function violations(): Promise<string[]> {
    await page.evaluate(AXE);
    return page.evaluate(`axe.run().then(({ violations }) =>
      violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html).join(" ")))`);
  }

  test("asks a stranger to sign in, and shows nothing else", async () => {
    await page.goto(scene.server.url);
    await page.locator("#sign-in").waitFor();
    assert.equal(await page.locator("#runs").isVisible(), false);
    await page.getByText("Sign in by a user token").click();
    assert.deepEqual(await violations(), []);
  });

  test("signs in by the printed link, whose session no script can read afterwards", async () => {
    await page.goto("about:blank");
    await page.goto(loginLink());
    await row(runId).waitFor();
    assert.equal(page.url(), `${scene.server.url}/`);
    const [cookie, ...more] = await context.cookies();
    assert.deepEqual(
      [cookie?.name, cookie?.httpOnly, cookie?.sameSite, more.length],
      ["keelson_session", true, "Lax", 0],
    );
    assert.notEqual(cookie?.value, scene.server.credentials.user_token, "it has a session of its own");
    const readable = await page.evaluate(
      "JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }, document.documentElement.outerHTML])",
    );
    assert.doesNotMatch(String(readable), /kl_usr_/);
    assert.match((await page.locator("#who").textContent()) ?? "", /@/);
    assert.deepEqual(await violations(), []);
  });

  test("shows a run, its events and its output", async () => {
    await row(runId).getByRole("button").click();
    await page.locator("#events li").first().waitFor();
    assert.match((await page.locator("#detail-title").textContent()) ?? "", new RegExp(runId));
    assert.deepEqual(await violations(), []);
    await page.keyboard.press("Escape");
    await page.locator("#detail").waitFor({ state: "hidden" });
  });

  test("shows each environment of the user, and the one that was chosen after a reload", async () => {
    const select = page.getByLabel("Environment");
    const names = (await select.locator("option").allTextContents()).map((name) => name.toLowerCase());
    assert.deepEqual(names.toSorted(), ["development", "production"]);
    await select.selectOption({ index: names.indexOf("production") });
    await page.getByText("No run yet").waitFor();
    await page.reload();
    await page.getByText("No run yet").waitFor();
    await select.selectOption({ index: names.indexOf("development") });
    await row(runId).waitFor();
  });

  test("signs out: the cookie's session is worthless, and the link's is not", async () => {
    const [cookie] = await context.cookies();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.locator("#sign-in").waitFor();
    assert.deepEqual(await context.cookies(), []);
    const me = (as: string | undefined) => scene.server.call("GET", "/api/me", { as: as ?? "" });
    // A look-up of the session is trusted for a second.
    scene.clock.advance(2_000);
    assert.equal((await me(cookie?.value)).status, 401);
    assert.equal((await me(scene.server.credentials.user_token)).status, 200);
  });

  test("signs in by a pasted token, and says why one is refused", async () => {
    await page.getByText("Sign in by a user token").click();
    const submit = async (token: string): Promise<void> => {
      await page.getByLabel("User token").fill(token);
      await page.locator("#token-form button").click();
    };
    await submit(scene.server.credentials.user_token.replace(/.{6}$/, "000000"));
    await page.getByRole("alert").waitFor();
    assert.match((await page.getByRole("alert").textContent()) ?? "", /credential/);
    await submit(scene.server.credentials.user_token);
    await row(runId).waitFor();
  });

  test("asks to sign in again when the session has ended meanwhile", async () => {
    const [cookie] = await context.cookies();
    const ended = await scene.server.call("POST", "/api/auth/logout", { as: cookie?.value ?? "" });
    assert.equal(ended.status, 204);
    scene.clock.advance(2_000);
    await page.getByText("Your session has ended").waitFor();
    assert.equal(await page.locator("#runs").isVisible(), false);
  });
});
