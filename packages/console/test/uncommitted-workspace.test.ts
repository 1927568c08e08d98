// Files that a worker could not commit, as a person sees them: why, where they are, and how they are recovered or given up.

import assert from "node:assert/strict";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { WITHOUT_CHROMIUM } from "../../sdk/test/support/chromium.ts";
import { until as untilHolds } from "../../server/test/support/until.ts";
import { startAgentSite, type AgentSite } from "./support/agent-site.ts";
import { openConsole, type ConsolePage } from "./support/open-console.ts";

/** A name that is longer than any may be once its bytes are escaped. */
const UNFIT = String.raw`echo lost > "$(printf '\377%.0s' $(seq 100))"`;

describe(
  "a workspace with files that could not be committed",
  {
    skip: WITHOUT_CHROMIUM,
    timeout: 180_000,
  },
  () => {
    let site: AgentSite;
    let console: ConsolePage;
    before(async () => {
      site = await startAgentSite();
      console = await openConsole(site.server);
    });
    after(async () => {
      await console?.close();
      await site?.stop();
    });

    const until = (what: string, holds: () => Promise<boolean>): Promise<void> =>
      untilHolds(what, 30_000, holds);
    const folders = (): string => join(site.folder, "agent/agents/agent-1/workspaces");
    const statusOf = async (id: string): Promise<string | undefined> =>
      (await site.client.workspaces.get(id)).materialization?.status;

    async function makeUncommitted(externalId: string): Promise<string> {
      const { id } = await site.client.workspaces.create({ externalId });
      const workspace = site.client.workspaces.open(id);
      const exec = await workspace.exec(["sh", "-c", `echo kept > kept; ${UNFIT}`]);
      assert.equal((await exec.wait()).exitCode, 0);
      await site.client.workspaces.stop(id).catch(() => undefined);
      await until("it is uncommitted", async () => (await statusOf(id)) === "uncommitted");
      return id;
    }

    /** Makes what no version can have fit: it is gone. */
    function removeUnfit(): void {
      for (const name of readdirSync(folders())) {
        const files = join(folders(), name, "files");
        for (const file of readdirSync(files, { encoding: "buffer" }))
          if (file.length === 100) rmSync(Buffer.concat([Buffer.from(`${files}/`), file]));
      }
    }

    test("is told in the list, with its cause", async () => {
      await makeUncommitted("stuck");
      await console.goto("workspaces");
      const row = console.page.getByRole("row", { name: /stuck/ });
      await row.getByText("uncommitted", { exact: true }).waitFor();
      await row.getByText(/too long once its bytes are escaped/).waitFor();
      assert.deepEqual(await console.violations(), []);
      await console.screenshot("workspaces-uncommitted");
    });

    test("shows what is kept where, and is recovered once it can be committed", async () => {
      const { page } = console;
      await page.getByRole("link", { name: /stuck/ }).click();
      const notice = page.getByRole("region", { name: "A worker holds uncommitted files" });
      await notice.getByText(/too long once its bytes are escaped/).waitFor();
      await notice.getByText(/wkr_/).waitFor();
      const [folder] = readdirSync(folders());
      const shown = await notice.getByText(/\/workspaces\/mat_/).textContent();
      assert.equal(shown, `agents/…/workspaces/${folder?.split("-")[0]}-…/files`);
      assert.equal(await page.getByRole("button", { name: /Start|Stop and commit/ }).count(), 0);
      assert.equal(await page.getByText("Waiting for a machine").count(), 0);
      assert.deepEqual(await console.violations(), []);
      await console.screenshot("workspace-uncommitted");
      await page.setViewportSize({ width: 390, height: 844 });
      const isWider = "document.documentElement.scrollWidth > document.documentElement.clientWidth";
      assert.equal(await page.evaluate(isWider), false);
      await console.screenshot("workspace-uncommitted-narrow");
      await page.setViewportSize({ width: 1280, height: 800 });
      removeUnfit();
      await notice.getByRole("button", { name: "Recover" }).click();
      await page.getByRole("button", { name: "Start", exact: true }).waitFor();
      assert.equal(await notice.count(), 0);
      await page.getByText("stopped", { exact: true }).first().waitFor();
    });

    test("is given up only by who types its name", async () => {
      const id = await makeUncommitted("given-up");
      const { page } = console;
      await console.goto(`workspaces/${id}`);
      await page.getByRole("button", { name: "Discard" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText(/goes on from version #\d+.*cannot be undone/).waitFor();
      const confirm = dialog.getByRole("button", { name: "Discard" });
      assert.equal(await confirm.isDisabled(), true);
      assert.equal(await statusOf(id), "uncommitted");
      await dialog.getByRole("textbox").fill("given-up");
      assert.deepEqual(await console.violations(), []);
      await confirm.click();
      await page.getByRole("button", { name: "Start", exact: true }).waitFor();
      assert.equal(await statusOf(id), "stopped");
      await until("its folder is gone", async () => readdirSync(folders()).length === 0);
      assert.deepEqual([console.problems, console.foreign], [[], []]);
    });
  },
);
