// The console in headless Chromium: signing in, and what stands around every page.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { WITHOUT_CHROMIUM } from "../../sdk/test/support/chromium.ts";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { openConsole, type ConsolePage } from "./support/open-console.ts";

const options = { skip: WITHOUT_CHROMIUM, timeout: 120_000 };

describe("the console", options, () => {
  let scene: RunScene;
  let console: ConsolePage;
  before(async () => {
    scene = await startRunScene({ tasks: [{ id: "report" }] });
  });
  after(async () => {
    await console?.close();
    await scene?.stop();
  });

  test("asks a stranger to sign in, and leads back to where they wanted to go", async () => {
    console = await openConsole(scene.server, { isStranger: true });
    const { page, at } = console;
    await page.goto(at("runs"));
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    assert.deepEqual(await console.violations(), []);
    await page.getByText("You started this server yourself").click();
    await page.getByText("login-link").waitFor();
    await page.getByText("Sign in with a user token").click();
    await page.getByLabel("User token").fill(scene.server.credentials.user_token);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("heading", { name: "Runs" }).waitFor();
    assert.equal(page.url(), at("runs"));
    await console.close();
  });

  test("signs in by the printed link, whose session no script can read afterwards", async () => {
    console = await openConsole(scene.server);
    const { page, context } = console;
    await page.waitForURL(/\/e\/env_/);
    const cookies = await context.cookies();
    // The browser is known from now on: its sign-in links have a budget of their own.
    assert.deepEqual(
      cookies.map(({ name, httpOnly, sameSite }) => `${name} ${httpOnly} ${sameSite}`).toSorted(),
      ["keelson_browser true Lax", "keelson_session true Lax"],
    );
    const cookie = cookies.find(({ name }) => name === "keelson_session");
    assert.notEqual(cookie?.value, scene.server.credentials.user_token, "it has a session of its own");
    const readable = await page.evaluate(
      "JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }, document.documentElement.outerHTML, location.href])",
    );
    assert.doesNotMatch(String(readable), /kl_usr_/);
  });

  test("goes to a page by the keyboard alone", async () => {
    const { page, at } = console;
    await page.keyboard.press("Control+k");
    // Typed at once, wherever the focus was.
    await page.getByRole("dialog", { name: "Go to" }).waitFor();
    await page.keyboard.type("runs");
    await page.getByRole("option", { name: /^Runs/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Runs" }).waitFor();
    assert.equal(page.url(), at("runs"));
    assert.deepEqual(await console.violations(), []);
  });

  test("says that the server is away, and is current again by itself", async () => {
    const { page, context } = console;
    await context.setOffline(true);
    await page.getByText("Reconnecting").waitFor();
    await context.setOffline(false);
    await page.getByText("Live", { exact: true }).waitFor();
  });

  test("keeps the chosen theme", async () => {
    const { page } = console;
    await page.getByRole("button", { name: /Account of/ }).click();
    await page.getByRole("menuitem", { name: "Dark theme" }).click();
    await page.reload();
    await page.getByRole("heading", { name: "Runs" }).waitFor();
    assert.equal(await page.evaluate("getComputedStyle(document.documentElement).colorScheme"), "dark");
  });

  test("asks nobody but its server, and breaks no rule of its own", () => {
    assert.deepEqual(console.foreign, []);
    assert.deepEqual(console.problems, []);
  });

  test("signs out", async () => {
    const { page, context } = console;
    await page.getByRole("button", { name: /Account of/ }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    assert.deepEqual(
      (await context.cookies()).map(({ name }) => name),
      ["keelson_browser"],
    );
  });
});
