// Commands in a workspace, in headless Chromium.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { WITHOUT_CHROMIUM } from "../../sdk/test/support/chromium.ts";
import { openConsole, type ConsolePage } from "./support/open-console.ts";
import { startAgentSite, type AgentSite } from "./support/agent-site.ts";

const options = { skip: WITHOUT_CHROMIUM, timeout: 180_000 };

describe("commands of a workspace", options, () => {
  let site: AgentSite;
  let console: ConsolePage;
  let workspaceId: string;
  before(async () => {
    site = await startAgentSite({ capacity: 1 });
    console = await openConsole(site.server);
    ({ id: workspaceId } = await site.client.workspaces.create({ externalId: "commands" }));
  });
  after(async () => {
    await console?.close();
    await site?.stop();
  });
  const run = async (line: string): Promise<void> => {
    await console.page.getByLabel("Command", { exact: true }).fill(line);
    await console.page.getByRole("button", { name: "Run" }).click();
    await console.page.waitForURL(/exec=exec_/);
  };
  const output = () => console.page.getByRole("region", { name: "Text of output" });

  test("there are none at first", async () => {
    await console.goto(`workspaces/${workspaceId}?tab=commands`);
    await console.page.getByText("No commands yet").waitFor();
    assert.deepEqual(await console.violations(), []);
  });

  test("one is run, read in its colours while it runs, written to, and its end is told", async () => {
    const { page } = console;
    await page.getByText("Folder, environment variables, input and time limit").click();
    await page.getByLabel("Environment").last().fill("GREETING=hello");
    await run(
      `printf '\\033[31m%s\\033[0m <b>\\033]8;;http://evil.example\\007link\\n' "$GREETING"; read -r line; echo "got $line" >&2; touch made; exit 3`,
    );
    await output().getByText("hello", { exact: true }).waitFor();
    await output().getByText("<b>link").waitFor();
    assert.equal(await output().locator("a, b").count(), 0);
    await page.getByLabel("Standard input").last().fill("typed");
    await page.getByRole("button", { name: "Send line" }).click();
    await page.getByRole("region", { name: "Text of errors" }).getByText("got typed").waitFor();
    await page.getByText("Exit 3", { exact: true }).waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("workspace-commands");
    await page.getByRole("button", { name: "Show changes" }).click();
    await page
      .getByRole("navigation", { name: "Changed files" })
      .getByRole("button", { name: /made/ })
      .waitFor();
    await page.goBack();
    await page.reload();
    await output().getByText("hello", { exact: true }).waitFor();
  });

  test("one that goes on is ended by a signal", async () => {
    const { page } = console;
    await page.getByRole("button", { name: "Close" }).click();
    await run("echo begun; exec sleep 1000");
    await output().getByText("begun").waitFor();
    await page.getByLabel("Signal").selectOption("SIGKILL");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.getByText("Exit SIGKILL", { exact: true }).waitFor();
    const rows = page.getByRole("region", { name: "Commands" }).getByRole("row");
    assert.equal(await rows.count(), 3);
  });

  test("is refused to a workspace that is not there, with the reason", async () => {
    await console.goto(`workspaces/${workspaceId}?tab=commands&exec=exec_none`);
    await console.page.getByText("Command not found").waitFor();
    assert.deepEqual(console.foreign, []);
    assert.deepEqual(console.problems, []);
  });
});
