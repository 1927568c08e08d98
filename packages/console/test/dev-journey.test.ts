// A mistake is found from the overview, understood from its stack and log, mended under `keelson dev`, and started again.

import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { createFolder, environmentOf, spawnKeelson, type Outcome } from "../../cli/test/support.ts";
import { WITHOUT_CHROMIUM } from "../../sdk/test/support/chromium.ts";
import { startAgentSite, type AgentSite } from "./support/agent-site.ts";
import { openConsole, type ConsolePage } from "./support/open-console.ts";

const MODULES = resolve(import.meta.dirname, "../../../node_modules");

const taskFile = (greeting: string): string => `import { task } from "@keelson/sdk";

type Payload = { person?: { name: string } };

export const greet = task({
  id: "greet",
  retry: { maxAttempts: 1 },
  run: (payload: Payload) => {
    console.log("greeting somebody");
    return ${greeting};
  },
});
`;
const WITH_MISTAKE = taskFile("`Hello ${(payload.person as { name: string }).name}`");
const MENDED = taskFile('`Hello ${payload.person?.name ?? "you"}`');

describe("a mistake", { skip: WITHOUT_CHROMIUM, timeout: 180_000 }, () => {
  let site: AgentSite;
  let console: ConsolePage;
  let project: Awaited<ReturnType<typeof createFolder>>;
  let dev: ChildProcess;
  let ended: Promise<Outcome>;
  let file: string;

  /** Resolves when `keelson dev` says that what was written last is current. */
  async function untilDeployed(write: () => Promise<void>): Promise<void> {
    const heard = new Promise<void>((tell) => {
      let said = "";
      dev.stdout?.on("data", (part: Buffer) => {
        said += part.toString();
        if (said.includes("is current")) tell();
      });
    });
    await write();
    await Promise.race([heard, once(dev, "close").then(() => assert.fail("keelson dev ended"))]);
  }

  before(async () => {
    site = await startAgentSite();
    project = await createFolder();
    file = join(project.path, "src/tasks/greet.ts");
    await symlink(MODULES, join(project.path, "node_modules"));
    await mkdir(join(project.path, "src/tasks"), { recursive: true });
    await writeFile(file, WITH_MISTAKE);
    const env = environmentOf(site.server);
    await new Promise<void>((begun) => {
      ended = spawnKeelson(["dev"], {
        cwd: project.path,
        env,
        onSpawn: (child) => {
          dev = child;
          begun();
        },
      });
    });
    await untilDeployed(() => Promise.resolve());
    const run = await site.client.tasks.start("greet", {});
    await site.client.runs.wait(run.id);
    console = await openConsole(site.server);
  });
  after(async () => {
    await console?.close();
    dev?.kill("SIGINT");
    await ended;
    await project?.[Symbol.asyncDispose]();
    await site?.stop();
  });

  test("is found from the overview, and understood from its stack and log", async () => {
    const { page } = console;
    await page.getByRole("region", { name: "Failed runs" }).getByRole("link", { name: "greet" }).click();
    await page.getByText("failed").first().waitFor();
    await page.getByRole("tab", { name: "Data" }).click();
    const stack = page.getByRole("region", { name: "Stack", exact: true });
    await stack.getByText("Cannot read properties of undefined").waitFor();
    // The line of the source that a person wrote, not of the bundle that was run.
    assert.match((await stack.textContent()) ?? "", /src\/tasks\/greet\.ts:10/);
    await page.getByRole("tab", { name: "Logs" }).click();
    await page.getByText("greeting somebody").waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("journey-mistake");
  });

  test("is mended, deployed by keelson dev, and what failed is started again", async () => {
    const { page } = console;
    await untilDeployed(() => writeFile(file, MENDED));
    const failed = page.url();
    await page.getByRole("button", { name: "Start again" }).click();
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.waitForURL((url) => /\/runs\/run_/.test(url.pathname) && !failed.includes(url.pathname));
    await page.getByText("succeeded").first().waitFor();
    await page.getByRole("tab", { name: "Data" }).click();
    await page.getByRole("region", { name: "Output as JSON" }).getByText("Hello you").waitFor();
    assert.deepEqual([console.foreign, console.problems], [[], []]);
  });
});
