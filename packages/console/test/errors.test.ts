// A task that fails is found by its error, mended, and comes back, in headless Chromium.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { buildBundle } from "../../cli/src/bundle/build-bundle.ts";
import { deployBundle } from "../../cli/src/deploy-bundle.ts";
import { WITHOUT_CHROMIUM } from "../../sdk/test/support/chromium.ts";
import { startAgentSite, type AgentSite } from "./support/agent-site.ts";
import { openConsole, type ConsolePage } from "./support/open-console.ts";

const MODULES = resolve(import.meta.dirname, "../../../node_modules");
const taskFile = (isBroken: boolean): string => `import { task } from "@keelson/sdk";

function charge(order: number): string {
  ${isBroken ? "throw new RangeError(`Order ${order} has no price`);" : "return `charged ${order}`;"}
}

export const bill = task({
  id: "bill",
  retry: { maxAttempts: 1 },
  run: (payload: { order: number }) => charge(payload.order),
});
`;

describe("errors", { skip: WITHOUT_CHROMIUM, timeout: 180_000 }, () => {
  let site: AgentSite;
  let console: ConsolePage;
  let directory: string;

  async function deploy(isBroken: boolean): Promise<void> {
    await writeFile(join(directory, "src/tasks/bill.ts"), taskFile(isBroken));
    await deployBundle(site.client, await buildBundle({ directory }), {
      directory,
      promote: true,
      timeoutMs: 60_000,
      signal: new AbortController().signal,
      progress: () => undefined,
    });
  }
  const runToEnd = async (order: number): Promise<{ id: string; status: string }> =>
    site.client.runs.wait((await site.client.tasks.start("bill", { order })).id, { throwOnFailure: false });

  before(async () => {
    site = await startAgentSite();
    directory = join(site.folder, "project");
    await mkdir(join(directory, "src/tasks"), { recursive: true });
    await symlink(MODULES, join(directory, "node_modules"));
    await deploy(true);
    console = await openConsole(site.server);
  });
  after(async () => {
    await console?.close();
    await site?.stop();
  });

  test("two runs that failed in the same way are one error, with the line of the code", async () => {
    const { page } = console;
    for (const order of [17, 18]) assert.equal((await runToEnd(order)).status, "failed");
    await console.goto("");
    await page.getByRole("link", { name: "Errors", exact: true }).first().click();
    const row = page.getByRole("row", { name: /RangeError: Order 17 has no price/ });
    await row.getByRole("cell", { name: "2", exact: true }).waitFor();
    await row.getByText("charge (src/tasks/bill.ts)").waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("errors-list");
    await row.getByRole("link").first().click();
    await page
      .getByRole("region", { name: "Stack", exact: true })
      .getByText("src/tasks/bill.ts:4:9")
      .waitFor();
    assert.equal(
      await page
        .getByRole("region", { name: "Runs", exact: true })
        .getByRole("link", { name: /^run_/ })
        .count(),
      2,
    );
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("errors-group");
    await page.setViewportSize({ width: 390, height: 844 });
    await console.screenshot("errors-group-narrow");
    await page.goBack();
    await row.getByRole("link").first().waitFor();
    await console.screenshot("errors-list-narrow");
    await page.setViewportSize({ width: 1280, height: 800 });
    await row.getByRole("link").first().click();
  });

  test("is resolved, mended, and its run started again succeeds", async () => {
    const { page } = console;
    await page.getByRole("button", { name: "Resolve" }).click();
    await page.getByText("resolved", { exact: true }).waitFor();
    await deploy(false);
    await page.getByRole("link", { name: "Latest run with this error" }).click();
    await page.getByRole("link", { name: "Runs that failed in the same way" }).waitFor();
    const failed = page.url();
    await page.getByRole("button", { name: "Start again" }).click();
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.waitForURL((url) => /\/runs\/run_/.test(url.pathname) && !failed.includes(url.pathname));
    await page.getByText("succeeded").first().waitFor();
    await page.goto(failed);
    await page.getByRole("link", { name: "Runs that failed in the same way" }).click();
    await page.getByText("resolved", { exact: true }).waitFor();
  });

  test("is open again after another failure of the same kind, and leads to its runs", async () => {
    const { page } = console;
    await deploy(true);
    const { id } = await runToEnd(19);
    await page.getByText("open again", { exact: true }).waitFor();
    await page.getByText("Failed again").waitFor();
    await console.screenshot("errors-open-again");
    await page.getByRole("link", { name: "All of them" }).click();
    await page.getByText("error group", { exact: true }).waitFor();
    await page.locator(`a[href*="${id}"]`).first().waitFor();
    assert.deepEqual([console.foreign, console.problems], [[], []]);
  });

  test("that is muted leaves the list of open ones", async () => {
    const { page } = console;
    await page.goBack();
    await page.getByRole("button", { name: "Mute" }).click();
    await page.getByText("muted", { exact: true }).waitFor();
    await console.goto("errors");
    await page.getByText("No open errors").waitFor();
    await page.getByRole("combobox", { name: "Status" }).selectOption("muted");
    await page.getByRole("link", { name: /Order 17/ }).waitFor();
  });
});
