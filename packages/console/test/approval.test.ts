// A conversation from its first word to its end, in the console alone, with the example's actor on a real worker.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Me } from "@keelson/contract";
import { WITHOUT_CHROMIUM } from "../../sdk/test/support/chromium.ts";
import { openConsole, type ConsolePage } from "./support/open-console.ts";
import { startAgentSite, type AgentSite } from "./support/agent-site.ts";

describe("a conversation that asks for approval", { skip: WITHOUT_CHROMIUM, timeout: 180_000 }, () => {
  let chat: AgentSite;
  let console: ConsolePage;
  before(async () => {
    chat = await startAgentSite({ capacity: 2 });
    await chat.deploy("approval-chat");
    console = await openConsole(chat.server);
  });
  after(async () => {
    await console?.close();
    await chat?.stop();
  });

  test("is begun in the console, and the answer grows in one place", async () => {
    const { page, goto } = console;
    await goto("sessions");
    await page.getByText("No conversations yet").waitFor();
    await page.getByRole("button", { name: "New session" }).click();
    const dialog = page.getByRole("dialog", { name: "New session" });
    await dialog.getByLabel("First input").fill("What can you do?");
    await dialog.getByLabel("External id").fill("customer-4711");
    await dialog.getByRole("button", { name: "Start" }).click();
    await page.getByRole("heading", { name: "customer-4711" }).waitFor();
    const conversation = page.getByRole("region", { name: "Conversation" });
    await conversation
      .getByText(/^I look after the servers\..*first\.$/)
      .first()
      .waitFor();
    await conversation.getByText('{"type":"answered"}').waitFor();
    assert.match(
      await conversation.getByRole("article", { name: "Input input 1" }).innerText(),
      /You\b.*What can/s,
    );
  });

  test("says what it wants to do in the inbox, by itself", async () => {
    const { page, context, at } = console;
    const inbox = await context.newPage();
    inbox.setDefaultTimeout(60_000);
    await inbox.goto(at("tokens"));
    await inbox.getByText("Nothing is waiting for you").waitFor();
    await page.getByLabel("Message").fill("Please delete the staging database.");
    await page.getByLabel("Message").press("Enter");
    const asked = inbox.getByRole("article", { name: "delete the staging database" });
    await asked.getByRole("link", { name: "run of approval-chat" }).waitFor();
    const wanted = page.getByRole("region", { name: "Waiting for a decision" });
    await wanted.getByRole("link", { name: "delete the staging database" }).waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("session-approval");
    await asked.getByRole("button", { name: "Approve" }).click();
    const sure = inbox.getByRole("dialog", { name: "Approve this?" });
    await sure.getByText("delete the staging database").waitFor();
    await sure.getByRole("button", { name: "Back" }).click();
    await asked.getByRole("button", { name: "Approve" }).click();
    await sure.getByRole("button", { name: "Approve" }).click();
    await inbox.getByText("Nothing is waiting for you").waitFor();
    await inbox.close();
  });

  test("goes on with what was decided elsewhere", async () => {
    const { page } = console;
    const conversation = page.getByRole("region", { name: "Conversation" });
    await conversation
      .getByText(/^It is done: delete the staging database/)
      .first()
      .waitFor();
    await page.getByRole("region", { name: "Waiting for a decision" }).waitFor({ state: "detached" });
    const completed: unknown[] = [];
    for await (const { data, completedBy: by } of chat.client.tokens.list({ status: "completed" }))
      completed.push([data, by?.kind]);
    assert.deepEqual(completed, [[{ approved: true }, "user"]]);
  });

  test("is answered below itself as well", async () => {
    const { page } = console;
    await page.getByLabel("Message").fill("restart the mail server");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    const wanted = page.getByRole("region", { name: "Waiting for a decision" });
    await wanted.getByRole("link", { name: "restart the mail server" }).waitFor();
    // What appears below the conversation takes room from it, and not its end.
    await page.getByRole("button", { name: "To the newest" }).waitFor({ state: "detached" });
    await wanted.getByRole("button", { name: "Refuse" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Refuse" }).click();
    await page
      .getByText(/I have left everything as it is/)
      .first()
      .waitFor();
  });

  test("is answered on the page of its run, which goes on and says by whom", async () => {
    const { page, context, at } = console;
    await page.getByLabel("Message").fill("rotate the keys");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    const wanted = page.getByRole("region", { name: "Waiting for a decision" });
    await wanted.getByRole("link", { name: "rotate the keys" }).waitFor();
    const asking: string[] = [];
    for await (const { runId } of chat.client.tokens.list({ status: "pending" })) asking.push(runId ?? "");
    const aside = await context.newPage();
    aside.setDefaultTimeout(60_000);
    await aside.goto(at(`runs/${asking[0]}`));
    const question = aside.getByRole("article", { name: "rotate the keys" });
    await question.getByText(/expires in/).waitFor();
    await question.getByRole("button", { name: "Approve" }).click();
    await aside.getByRole("dialog").getByRole("button", { name: "Approve" }).click();
    const answers = aside.getByRole("list", { name: "Answers" });
    await answers.getByText(/^rotate the keys Approved by you (just now|\d+ s ago)$/).waitFor();
    await question.waitFor({ state: "detached" });
    await aside.reload();
    await answers.getByText(/^rotate the keys Approved by you/).waitFor();
    await aside.close();
    await page
      .getByText(/^It is done: rotate the keys/)
      .first()
      .waitFor();
  });

  test("is in the audit log, by name, and leads to what was approved", async () => {
    const { page, context } = console;
    const aside = await context.newPage();
    aside.setDefaultTimeout(60_000);
    const me = (await (await aside.request.get(new URL("/api/me", page.url()).href)).json()) as Me;
    const address = `/organizations/${me.organizations[0]?.id}/audit-log?action=tokens.complete`;
    await aside.goto(new URL(address, page.url()).href);
    const row = aside.getByRole("row", { name: /tokens\.complete/ }).first();
    await row.getByText(me.user?.name ?? me.user?.email ?? "", { exact: true }).waitFor();
    await row.getByRole("link").click();
    await aside.waitForURL(/\/tokens\/tok_/);
    await aside.getByRole("heading", { level: 1 }).waitFor();
    await aside.close();
  });

  test("is ended here, and takes no more", async () => {
    const { page } = console;
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await page.getByRole("button", { name: "Cancel the session" }).click();
    await page.getByText("The session is cancelled: it takes no more input.").waitFor();
    await page.getByRole("link", { name: "New session" }).click();
    await page.getByRole("dialog", { name: "New session" }).waitFor();
    assert.deepEqual([console.foreign, console.problems], [[], []]);
  });
});
