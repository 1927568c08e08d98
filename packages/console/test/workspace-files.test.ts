// The files of a workspace in headless Chromium, friendly and hostile ones; no agent is needed but for links and names.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { WITHOUT_CHROMIUM } from "../../sdk/test/support/chromium.ts";
import { openConsole, type ConsolePage } from "./support/open-console.ts";
import { startAgentSite, type AgentSite } from "./support/agent-site.ts";

const options = { skip: WITHOUT_CHROMIUM, timeout: 180_000 };

const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
  "base64",
);
const MARKUP = "<img src=x onerror=alert(1)>";
/** Names with everything that a name of Linux may have, links, and more files than anyone lays out. */
const HOSTILE = `
set -e
mkdir many
seq -f 'many/file-%05.0f' 1 10000 | xargs touch
printf '<script>alert(1)</script><a href="javascript:alert(2)">x</a>' > '${MARKUP}'
printf 'x' > "$(printf 'new\\nline')"
printf 'x' > "$(printf '\\342\\200\\256gpj.exe')"
printf '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(3)"><script>alert(4)</script></svg>' > evil.svg
printf '\\033]0;title\\007\\033]8;;http://evil.example/\\007click\\033[31m' > escapes.txt
ln -s /etc/passwd link
printf 'caf\\351' > latin1.txt
head -c 3000 /dev/zero > zeros
`;

describe("the files of a workspace", options, () => {
  let site: AgentSite;
  let console: ConsolePage;
  let workspaceId: string;
  before(async () => {
    site = await startAgentSite({ capacity: 1 });
    console = await openConsole(site.server);
    console.page.on("dialog", (dialog) => {
      console.problems.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
  });
  after(async () => {
    await console?.close();
    await site?.stop();
  });
  const open = (path: string): Promise<void> =>
    console.goto(`workspaces/${workspaceId}?path=${encodeURIComponent(path)}`);
  const content = (path: string) => console.page.getByRole("region", { name: `Content of ${path}` });

  test("there are none at first, and the page says how to make one", async () => {
    const { page } = console;
    await console.goto("workspaces");
    await page.getByText("No workspaces yet").waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("workspaces-empty");
    await page.getByRole("button", { name: "New workspace" }).first().click();
    await page.getByLabel("External id").fill("ticket-1");
    await page.getByLabel("Tags").fill("one two");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { name: "ticket-1" }).waitFor();
    workspaceId = /ws_[0-9a-z]+/.exec(page.url())?.[0] ?? "";
    const { tags } = await site.client.workspaces.get(workspaceId);
    assert.deepEqual(tags.toSorted(), ["one", "two"]);
  });

  test("a file is made, shown in colours, changed and deleted; each is a version", async () => {
    const { page } = console;
    await page.getByRole("button", { name: "New file" }).click();
    await page.getByLabel("Path").fill("src/main.ts");
    await page.getByLabel("Text").fill('const name = "<b>";\n');
    await page.getByRole("button", { name: "Save as a version" }).click();
    await content("src/main.ts").locator(".text-code-keyword", { hasText: "const" }).waitFor();
    assert.match(page.url(), /path=src%2Fmain\.ts/);
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("workspace-files");
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Text of src/main.ts").fill("let name;\n");
    await page.getByRole("button", { name: "Save as a version" }).click();
    await content("src/main.ts").getByText("name").waitFor();
    assert.equal(await site.client.workspaces.files.readText(workspaceId, "src/main.ts"), "let name;\n");
    await page.getByRole("button", { name: "Delete file" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("Open a file").waitFor();
    const { items } = await site.client.workspaces.versions.list(workspaceId).page();
    assert.equal(items.length, 4);
  });

  test("a change that crosses another's is told, and yours is not lost", async () => {
    const { page } = console;
    await site.client.workspaces.files.write(workspaceId, "notes.txt", "first\r\n");
    await open("notes.txt");
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Text of notes.txt").fill("mine\n");
    await site.client.workspaces.files.write(workspaceId, "notes.txt", "theirs\r\n");
    await site.client.workspaces.files.write(workspaceId, "other.txt", "theirs\n");
    // The page knows of their version before yours is saved.
    await page.getByRole("treeitem", { name: "other.txt" }).waitFor();
    await page.getByRole("button", { name: "Save as a version" }).click();
    await page.getByText("Somebody else changed this file").waitFor();
    assert.equal(await page.getByLabel("Text of notes.txt").inputValue(), "mine\n");
    assert.equal(await site.client.workspaces.files.readText(workspaceId, "notes.txt"), "theirs\r\n");
    await page.getByRole("button", { name: "Replace theirs" }).click();
    await content("notes.txt").getByText("mine").waitFor();
    assert.equal(await site.client.workspaces.files.readText(workspaceId, "notes.txt"), "mine\r\n");
  });

  test("pictures are pictures, and long texts come by parts", async () => {
    const { page } = console;
    await site.client.workspaces.files.write(workspaceId, "pixel.txt", PIXEL);
    const lines = Array.from({ length: 60_000 }, (_, index) => `line ${index}\n`).join("");
    await site.client.workspaces.files.write(workspaceId, "long.txt", lines);
    await open("pixel.txt");
    const picture = page.getByRole("img", { name: "pixel.txt" });
    await picture.waitFor();
    const image = 'document.querySelector("main img")';
    assert.equal(await page.evaluate(`${image}.decode().then(() => ${image}.naturalWidth)`), 1);
    assert.match((await picture.getAttribute("src")) ?? "", /^blob:/);
    await open("long.txt");
    await content("long.txt").getByText("line 0", { exact: true }).waitFor();
    await page.getByText("The first 256 KiB of").waitFor();
    await page.getByRole("button", { name: "Show more" }).click();
    await page.getByText("The first 512 KiB of").waitFor();
    await page.getByRole("button", { name: "Show more" }).click();
    await page.getByRole("button", { name: "Show more" }).waitFor({ state: "detached" });
    await content("long.txt").press("End");
    await content("long.txt").getByText("line 59999", { exact: true }).waitFor();
  });

  test("nothing in a name or a file does anything", async () => {
    const { page } = console;
    const made = await site.client.workspaces.open(workspaceId).exec(["sh", "-c", HOSTILE]);
    assert.equal((await made.wait()).exitCode, 0);
    await console.goto(`workspaces/${workspaceId}`);
    for (const name of [MARKUP, "new\\nline", "\\u{202e}gpj.exe"])
      await page.getByRole("treeitem", { name, exact: true }).click();
    await page.getByRole("treeitem", { name: MARKUP, exact: true }).click();
    await content(MARKUP).getByText("<script>alert(1)</script>").waitFor();
    await page.getByRole("treeitem", { name: "evil.svg" }).click();
    await content("evil.svg").getByText("alert(4)").waitFor();
    await page.getByRole("treeitem", { name: "escapes.txt" }).click();
    await content("escapes.txt")
      .getByText("\\u{1b}]0;title\\u{7}\\u{1b}]8;;http://evil.example/\\u{7}click\\u{1b}[31m")
      .waitFor();
    await page.getByRole("treeitem", { name: /^link/ }).click();
    await page.getByText("The console never follows links").waitFor();
    assert.deepEqual(await console.violations(), []);
    await page.getByRole("treeitem", { name: "latin1.txt" }).click();
    await content("latin1.txt").getByText("caf\ufffd").waitFor();
    await page.getByText("This is not UTF-8").waitFor();
    await page.getByRole("treeitem", { name: "zeros" }).click();
    await page.getByText("This file is not text. The first 1 KiB of 2.9 KiB:").waitFor();
    const found = await page.evaluate(
      'document.querySelectorAll("main script, main img, main iframe, main object, main [onload], main [onerror], main a[href^=javascript]").length',
    );
    assert.equal(found, 0);
    assert.deepEqual(await console.violations(), []);
  });

  test("ten thousand entries are gone through by the keyboard", async () => {
    const { page } = console;
    const tree = page.getByRole("tree", { name: "Files" });
    await tree.focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowRight");
    await page.getByRole("treeitem", { name: "file-00001" }).waitFor();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("f");
    await page.keyboard.press("Enter");
    await page.getByText("An empty file.").waitFor();
    assert.match(page.url(), /path=many%2Ffile-00002/);
    await page.keyboard.press("End");
    await page.keyboard.press("Home");
    for (let i = 0; i < 60; i += 1) await page.keyboard.press("PageDown");
    await page.getByRole("treeitem", { name: "file-00900" }).waitFor();
    const active = await tree.getAttribute("aria-activedescendant");
    assert.equal(await page.locator(`#${active}`).getAttribute("aria-posinset"), "900");
    assert.equal(await page.locator(`#${active}`).getAttribute("aria-setsize"), "10000");
    assert.ok((await page.getByRole("treeitem").count()) < 200);
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowLeft");
    await page.getByRole("treeitem", { name: "file-00001" }).waitFor({ state: "detached" });
  });

  test("is the same on a narrow screen, and for what is not there", async () => {
    const { page } = console;
    await page.setViewportSize({ width: 390, height: 800 });
    await open("notes.txt");
    await content("notes.txt").getByText("mine").waitFor();
    const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
    assert.equal(overflow, 0);
    await console.screenshot("workspace-files-narrow");
    await open("none.txt");
    await page.getByText("This version has no file at this path").waitFor();
    await console.goto("workspaces/ws_none");
    await page.getByText("Page not found").waitFor();
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  test("asks nobody but its server, and breaks no rule of its own", () => {
    assert.deepEqual(console.foreign, []);
    assert.deepEqual(console.problems, []);
  });
});
