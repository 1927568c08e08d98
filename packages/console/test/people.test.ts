// People, keys and secrets in the console: what a team does on its first day.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Page } from "playwright-core";
import { WITHOUT_CHROMIUM } from "../../sdk/test/support/chromium.ts";
import { sql } from "../../server/src/db/sql.ts";
import { startApiServer, type ApiServer } from "../../server/test/support/api-server.ts";
import { enrollWorker } from "../../server/test/support/raw-worker.ts";
import { addUser } from "../../server/test/support/tenancy.ts";
import { openConsole, type ConsolePage } from "./support/open-console.ts";

const options = { skip: WITHOUT_CHROMIUM, timeout: 180_000 };

describe("people, keys and secrets in the console", options, () => {
  let server: ApiServer;
  let console: ConsolePage;
  let page: Page;
  before(async () => {
    server = await startApiServer();
    console = await openConsole(server);
    page = console.page;
  });
  after(async () => {
    await console?.close();
    await server?.stop();
  });

  const heading = (name: string) => page.getByRole("heading", { name, exact: true, level: 1 });
  const dialog = () => page.getByRole("dialog");
  async function isClean(): Promise<void> {
    assert.deepEqual(await console.violations(), []);
  }
  /** Goes to a page by the link of its name, as a person does. */
  async function follow(name: string, within: string): Promise<void> {
    await page.getByRole("navigation", { name: within }).getByRole("link", { name, exact: true }).click();
    await heading(name === "Organization" ? "Projects" : name).waitFor();
  }

  test("a secret is set, given a new value and deleted by its name; its value is on no page", async () => {
    await follow("Secrets", "Pages");
    await page.getByText("No secrets yet").waitFor();
    await isClean();
    await page.getByRole("button", { name: "Set a secret" }).click();
    await dialog().getByLabel("Name").fill("MODEL_KEY");
    await dialog().getByLabel("Value").fill("  tea-4711 ");
    await isClean();
    await dialog().getByRole("button", { name: "Set" }).click();
    const row = page.getByRole("row", { name: /MODEL_KEY/ });
    await row.waitFor();
    await row.getByRole("button", { name: "New value" }).click();
    await dialog().getByLabel("Value").fill("coffee-4712");
    await dialog().getByRole("button", { name: "Set" }).click();
    await page.getByText("MODEL_KEY has version 2.").waitFor();
    assert.doesNotMatch(await page.content(), /tea-4711|coffee-4712/);
    await row.getByRole("button", { name: "Delete" }).click();
    const confirm = dialog().getByRole("button", { name: "Delete" });
    assert.equal(await confirm.isDisabled(), true, "its name is typed first");
    await dialog().getByRole("textbox").fill("MODEL_KEY");
    await confirm.click();
    await page.getByText("No secrets yet").waitFor();
  });

  test("a refused form says why beside it and keeps what was typed", async () => {
    await page.getByRole("button", { name: "Set a secret" }).click();
    await dialog().getByLabel("Name").fill("TOO_LARGE");
    await dialog().getByLabel("Value").fill("x".repeat(70_000));
    await dialog().getByRole("button", { name: "Set" }).click();
    await dialog().getByRole("alert").waitFor();
    assert.match((await dialog().getByRole("alert").textContent()) ?? "", /Request req_/);
    assert.equal(await dialog().getByLabel("Name").inputValue(), "TOO_LARGE");
    await page.keyboard.press("Escape");
  });

  test("an API key is shown once, works, and is refused when it is revoked", async () => {
    await follow("API keys", "Pages");
    await page.getByRole("button", { name: "Create an API key" }).click();
    await dialog().getByLabel("Name").fill("CI");
    await isClean();
    await dialog().getByRole("button", { name: "Create" }).click();
    await dialog().getByText("is shown only now").waitFor();
    const [key] = /kl_key_[0-9A-Za-z]{38}/.exec((await dialog().textContent()) ?? "") ?? [];
    assert.equal((await server.call("GET", "/v1/runs", { as: key as string })).status, 200);
    await page.keyboard.press("Escape");
    assert.ok(!(await page.content()).includes(key as string));
    const row = page.getByRole("row", { name: /CI/ });
    await isClean();
    await row.getByRole("button", { name: "Revoke" }).click();
    await dialog().getByRole("textbox").fill("CI");
    await dialog().getByRole("button", { name: "Revoke" }).click();
    await row.waitFor({ state: "detached" });
  });

  test("a project and its environment are made, and can be gone to at once", async () => {
    await follow("Organization", "Pages");
    await page.getByRole("button", { name: "Create a project" }).click();
    await dialog().getByLabel("Name").fill("Shop");
    await dialog().getByRole("button", { name: "Create" }).click();
    const shop = page.locator("section", { has: page.getByRole("heading", { name: "Shop" }) });
    await shop.getByRole("button", { name: "Create an environment" }).click();
    await dialog().getByLabel("Name").fill("Staging");
    await dialog().getByRole("button", { name: "Create" }).click();
    await shop.getByRole("link", { name: "Staging" }).waitFor();
    await isClean();
    await page.getByRole("combobox", { name: "Environment" }).selectOption({ label: "Shop / Staging" });
    await page.waitForURL(/\/e\/env_/);
  });

  test("a member is invited, joins by the mail's link in a browser of their own, and gets another role", async () => {
    await follow("Organization", "Pages");
    await follow("Members", "Organization");
    await page.getByRole("button", { name: "Invite a member" }).click();
    await dialog().getByLabel("Mail address").fill("ada@example.com");
    await dialog().getByLabel("Role").selectOption("viewer");
    await isClean();
    await dialog().getByRole("button", { name: "Invite" }).click();
    await page.getByText("ada@example.com is invited.").waitFor();
    await follow("Invitations", "Organization");
    await page.getByRole("row", { name: /ada@example.com/ }).waitFor();
    await isClean();

    const link = /http\S+\/invitation#\S+/.exec(server.mails.join("\n"))?.[0];
    assert.ok(link !== undefined, server.mails.join("\n"));
    const theirs = await openConsole(server, { isStranger: true });
    try {
      await theirs.page.goto(link);
      await theirs.page.getByRole("button", { name: "Accept the invitation" }).waitFor();
      assert.deepEqual(await theirs.violations(), []);
      await theirs.page.getByRole("button", { name: "Accept the invitation" }).click();
      await theirs.page.getByText("You are viewer of").waitFor();
      await theirs.page.goto(theirs.at("secrets"));
      await theirs.page.getByRole("button", { name: "Set a secret" }).click();
      await theirs.page.getByLabel("Name").fill("NOT_MINE");
      await theirs.page.getByLabel("Value").fill("x");
      await theirs.page.getByRole("button", { name: "Set", exact: true }).click();
      await theirs.page
        .getByRole("dialog")
        .getByText(/Code permission_denied|Code forbidden/)
        .waitFor();
    } finally {
      await theirs.close();
    }

    await follow("Members", "Organization");
    await page.getByLabel("Role of ada@example.com").selectOption("developer");
    await page.getByText("ada@example.com is developer.").waitFor();
    await isClean();
  });

  test("the last owner's role cannot be taken, and the page says so", async () => {
    await page.getByLabel("Role of owner@localhost").selectOption("viewer");
    await page.getByText(/last owner/i).waitFor();
    assert.equal(await page.getByLabel("Role of owner@localhost").inputValue(), "owner");
  });

  test("a device is approved by its code, and denied", async () => {
    const start = async (): Promise<{ user_code: string; device_code: string }> =>
      (
        await server.call("POST", "/api/auth/device/start", {
          as: null,
          body: { client_id: "keelson on a laptop" },
        })
      ).body;
    const first = await start();
    await page.goto(`${server.url}/device#user_code=${first.user_code}`);
    await page.getByText("keelson on a laptop").waitFor();
    await isClean();
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("Approved.").waitFor();
    const token = await server.call("POST", "/api/auth/device/token", {
      as: null,
      body: { device_code: first.device_code },
    });
    assert.match(token.body.access_token, /^kl_usr_/);
    const second = await start();
    await page.goto(`${server.url}/device`);
    await page.getByLabel("Code shown on the device").fill(second.user_code.toLowerCase());
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("button", { name: "Deny" }).click();
    await page.getByText("Denied.").waitFor();
  });

  test("the organization's audit log tells who did what, and is filtered by its address", async () => {
    await page.goto(console.at(""));
    await follow("Organization", "Pages");
    await follow("Audit log", "Organization");
    await page.getByLabel("Action").fill("members.update");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.waitForURL(/action=members\.update/);
    await page.getByRole("row", { name: /members\.update/ }).waitFor();
    await page.getByRole("button", { name: /^Show/ }).first().click();
    await dialog().getByText("Place in the chain").waitFor();
    await isClean();
    await page.keyboard.press("Escape");
  });

  test("asks nobody but its server, and breaks no rule of its own", () => {
    assert.deepEqual(console.foreign, []);
    assert.deepEqual(console.problems, []);
  });
});

describe("the installation's pages", options, () => {
  let server: ApiServer;
  let console: ConsolePage;
  let page: Page;
  before(async () => {
    server = await startApiServer();
    await addUser(server, "developer", { email: "grace@example.com" });
    console = await openConsole(server);
    page = console.page;
  });
  after(async () => {
    await console?.close();
    await server?.stop();
  });

  for (const [path, title, row] of [
    ["", "System", "executions"],
    ["/organizations", "Organizations", "Default"],
    ["/users", "Users", "grace@example.com"],
    ["/worker-groups", "Worker groups", "wgrp_"],
    ["/enrollment-tokens", "Enrollment tokens", "First start"],
    ["/audit-log", "Audit log", "user_sessions.create"],
  ] as const)
    test(`${title} shows what there is`, async () => {
      await page.goto(`${server.url}/system${path}`);
      await page.getByRole("heading", { name: title, exact: true, level: 1 }).waitFor();
      await page
        .getByRole("row", { name: new RegExp(row) })
        .first()
        .waitFor();
      assert.deepEqual(await console.violations(), []);
    });

  test("System shows whose clock is followed, and what a background loop could not do", async () => {
    await server.db.query(sql`
      INSERT INTO loop_failures (loop, environment_id, item_id, failures, cause, first_failed_at, last_failed_at, retry_at)
      SELECT 'fire-schedules', id, gen_random_uuid()::text, 3, 'no such time zone', now(), now(), now() FROM environments LIMIT 1`);
    await page.goto(`${server.url}/system`);
    await page.getByRole("row", { name: /fire-schedules.*no such time zone.*3/ }).waitFor();
    await page.getByText("as PostgreSQL's").waitFor();
    assert.deepEqual(await console.violations(), []);
    await server.db.query(sql`DELETE FROM loop_failures`);
  });

  test("Workers says how one comes to be while there is none", async () => {
    await page.goto(`${server.url}/system/workers`);
    await page.getByText("No workers match these filters").waitFor();
    assert.deepEqual(await console.violations(), []);
  });

  test("Workers shows which isolation held, and why it is not the stronger one", async () => {
    const worker = await enrollWorker(server);
    const capacity = { executions: 1, workspaces: 1 };
    const said = { isolation: "process", isolation_problem: "bubblewrap is not installed." };
    await worker.call("POST", "/register", { name: "weak", capacity, worker_protocol_version: 1, ...said });
    await page.goto(`${server.url}/system/workers`);
    await page.getByRole("row", { name: /weak.*process.*bubblewrap is not installed/ }).waitFor();
    assert.deepEqual(await console.violations(), []);
  });

  test("the chain of the audit log is verified", async () => {
    await page.goto(`${server.url}/system/audit-log`);
    await page.getByRole("button", { name: "Verify the chain" }).click();
    await page.getByText("as they were written").waitFor();
  });

  test("a user is suspended and let in again", async () => {
    await page.goto(`${server.url}/system/users?email=grace%40example.com`);
    const row = page.getByRole("row", { name: /grace@example.com/ });
    await row.getByRole("button", { name: "Suspend" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Suspend" }).click();
    await row.getByText("suspended").waitFor();
    await row.getByRole("button", { name: "Let in" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Let in" }).click();
    await row.getByText("active").waitFor();
  });

  test("who is no admin is refused with a reason", async () => {
    const theirs = await openConsole(server, { isStranger: true });
    try {
      const token = await addUser(server, "owner", { email: "owner2@example.com" });
      await theirs.page.goto(`${server.url}/#token=${token}`);
      await theirs.page.getByRole("navigation", { name: "Pages" }).waitFor();
      assert.equal(await theirs.page.getByRole("link", { name: "System" }).count(), 0);
      await theirs.page.goto(`${server.url}/system/users`);
      await theirs.page
        .getByRole("alert")
        .getByText(/Request req_/)
        .waitFor();
    } finally {
      await theirs.close();
    }
  });

  test("asks nobody but its server, and breaks no rule of its own", () => {
    assert.deepEqual(console.foreign, []);
    assert.deepEqual(console.problems, []);
  });
});
