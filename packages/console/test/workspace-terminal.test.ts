// A person's way through a workspace in headless Chromium: a terminal that survives what happens to pages and servers, an
// editor in it, what it changed, and what can be done with its versions.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import type { WorkspaceHandle } from "@keelson/sdk";
import { WITHOUT_CHROMIUM } from "../../sdk/test/support/chromium.ts";
import { startFaultProxy, type FaultProxy } from "../../server/test/support/fault-proxy.ts";
import { openConsole, type ConsolePage } from "./support/open-console.ts";
import { startAgentSite, type AgentSite } from "./support/agent-site.ts";

const options = { skip: WITHOUT_CHROMIUM, timeout: 180_000 };
const WITHOUT_VI = existsSync("/usr/bin/vi") ? false : "there is no /usr/bin/vi";

describe("a terminal of a workspace", options, () => {
  let site: AgentSite;
  let proxy: FaultProxy;
  let console: ConsolePage;
  let workspace: WorkspaceHandle;
  /** What becomes of the page's requests. */
  let network: "up" | "cut the output" | "away" = "up";
  before(async () => {
    site = await startAgentSite({ capacity: 1 });
    proxy = await startFaultProxy(site.server.url, ({ path }) => {
      if (network === "away") return "cut before";
      return network === "cut the output" && path.includes("/output") ? { events: 1 } : "pass";
    });
    console = await openConsole({ ...site.server, url: proxy.url });
    console.page.on("dialog", (dialog) => {
      console.problems.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    const { id } = await site.client.workspaces.create({ externalId: "journey" });
    workspace = site.client.workspaces.open(id);
    await workspace.files.write("notes.txt", "one\ntwo\n");
  });
  after(async () => {
    await console?.close();
    await proxy?.[Symbol.asyncDispose]();
    await site?.stop();
  });

  /** The lines that are seen, without the space at their ends. */
  const seen = async (): Promise<string[]> => {
    const text = await console.page.evaluate(
      '[...document.querySelectorAll(".xterm-rows > div")].map((row) => row.textContent.replaceAll("\\u00a0", " ").trimEnd()).join("\\n")',
    );
    return String(text).split("\n");
  };
  const line = (text: string | RegExp) => console.page.locator(".xterm-rows > div", { hasText: text });
  const shows = (text: string | RegExp): Promise<void> => line(text).first().waitFor();
  const type = (text: string): Promise<void> => console.page.keyboard.type(text);
  const ptyId = (): string => /pty_[0-9a-z]+/.exec(console.page.url())?.[0] ?? "";
  const typed = async (): Promise<number> =>
    (await site.client.workspaces.ptys.get(workspace.id, ptyId())).input.bytes;
  /** The screen takes what is typed: all that was written before the page came is shown. */
  const isReady = (): Promise<void> =>
    console.page.locator(".xterm-helper-textarea:focus").waitFor({ state: "attached" });

  test("opens, and runs what is typed", async () => {
    const { page } = console;
    await console.goto(`workspaces/${workspace.id}?tab=terminal`);
    await page.getByText("No open terminals").waitFor();
    await page.getByRole("button", { name: "New terminal" }).click();
    await page.waitForURL(/pty=pty_/);
    await isReady();
    await type('PS1="> "; clear; echo "rea""dy"\r');
    await shows("ready");
    await page.keyboard.press("Control+k");
    await type('echo "ag""ain"\r');
    await shows(/^again/);
    assert.equal(await page.getByRole("dialog").count(), 0, "its keys are the program's");
    await page.keyboard.press("Shift+Escape");
    await page.locator("[data-terminal]:focus").waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("workspace-terminal");
  });

  test("is the same after a reload: nothing is lost, doubled or answered again", async () => {
    const { page } = console;
    await page.locator(".xterm-helper-textarea").focus();
    await type(`stty -icanon -echo; printf '\\033[c'; head -c 7 | od -An -c; stty icanon echo\r`);
    await shows("033   [   ?   1   ;   2   c");
    await type('clear; seq 101 105; read -r go; seq 106 110; echo "fin""ished"\r');
    await shows(/^105\s*$/);
    const before = await typed();
    await page.reload();
    await shows(/^105\s*$/);
    await isReady();
    assert.equal(await typed(), before, "what was asked before is not answered again");
    await type("\r");
    await shows(/^finished/);
    const numbers = (await seen()).filter((line) => /^1\d\d$/.test(line));
    assert.deepEqual(
      numbers,
      Array.from({ length: 10 }, (_, index) => String(101 + index)),
    );
  });

  test("says that the server is away, and goes on where it was, with what was typed meanwhile", async () => {
    const { page } = console;
    await type('PS1=""; clear; echo "ca""t"; cat\r');
    await shows(/^cat/);
    await type("before\r");
    await shows(/^before/);
    network = "cut the output";
    await page.reload();
    await page.getByText("Connection lost, trying again").waitFor();
    network = "away";
    // The next try meets the outage and not the stream that is cut.
    await page.getByText("Reconnecting").waitFor();
    network = "up";
    await isReady();
    await shows(/^before/);
    network = "away";
    await type("meanwhile\r");
    network = "up";
    await line("meanwhile").nth(1).waitFor();
    const lines = (await seen()).filter((line) => /^(before|meanwhile)$/.test(line));
    assert.deepEqual(lines, ["before", "before", "meanwhile", "meanwhile"], "the echo and what cat wrote");
    await page.keyboard.press("Control+d");
    await type('PS1="> "; clear; echo "ba""ck"\r');
    await shows("back");
  });

  test("shows what a hostile program writes, and does nothing for it", async () => {
    const { page, context } = console;
    const pages = context.pages().length;
    await type(
      `printf '\\033]0;pwned\\007\\033]2;pwned\\007\\033]52;c;cHduZWQ=\\007\\033]8;;http://evil.example/\\007click\\033]8;;\\007 http://plain.example/a <b>x</b>\\n'\r`,
    );
    await shows("click http://plain.example/a <b>x</b>");
    assert.doesNotMatch(await page.title(), /pwned/);
    assert.equal(await page.locator("[data-terminal] a, [data-terminal] b").count(), 0);
    assert.equal(context.pages().length, pages);
  });

  test("runs an editor", { skip: WITHOUT_VI }, async () => {
    await type("clear; vi -u NONE -N notes.txt; clear; echo edi''ted\r");
    await shows("two");
    await type("Gothree <script>");
    await console.page.keyboard.press("Escape");
    await type(":wq\r");
    await shows("edited");
  });

  test("says how its shell ended, and the change is seen beside what it was", async () => {
    const { page } = console;
    // Without an editor, by the shell: the rest is the same.
    if (WITHOUT_VI !== false) await type("echo 'three <script>' >> notes.txt\r");
    await type("exit 7\r");
    await page.getByText("The program ended with exit code 7.").waitFor();
    await page.getByRole("button", { name: "Stop and commit" }).click();
    await page.getByRole("button", { name: "Start" }).waitFor();
    await page.getByRole("tab", { name: "Changes" }).click();
    const changed = page.getByRole("navigation", { name: "Changed files" });
    await changed.getByRole("button", { name: /notes\.txt/ }).click();
    const lines = page.getByRole("region", { name: "What changed in notes.txt" });
    await lines.getByText("+ three <script>").waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("workspace-changes");
  });

  test("its version is in the history, from where an earlier one is restored or forked", async () => {
    const { page } = console;
    await page.getByRole("tab", { name: "History" }).click();
    const versions = page.getByRole("list", { name: "Versions" }).getByRole("listitem");
    await versions.first().getByRole("link", { name: "Terminal" }).waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("workspace-history");
    const original = versions.filter({ hasText: "#2" });
    await original.getByRole("button", { name: "Restore" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Restore" }).click();
    await versions.first().getByText("Current").waitFor();
    await versions.first().getByText("Written through the API").waitFor();
    assert.equal(await workspace.files.readText("notes.txt"), "one\ntwo\n");
    await original.getByRole("link", { name: "Fork" }).click();
    await page.getByLabel("External id").fill("forked");
    await page.getByRole("dialog").getByRole("button", { name: "Fork" }).click();
    await page.getByRole("heading", { name: "forked" }).waitFor();
    await page.getByRole("treeitem", { name: "notes.txt" }).waitFor();
  });

  test("asks nobody but its server, and breaks no rule of its own", () => {
    assert.deepEqual(console.foreign, []);
    assert.deepEqual(
      console.problems.filter((problem) => !/net::ERR_|Failed to fetch/.test(problem)),
      [],
    );
  });
});
