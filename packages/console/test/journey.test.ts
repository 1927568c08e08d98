// What a newcomer does on their first day: signs in, starts the example, reads its report; and what they undo later.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  createFixtureRepository,
  WITHOUT_GIT,
  type FixtureRepository,
} from "../../../examples/repository-report/test/support/fixture-repository.ts";
import { WITHOUT_CHROMIUM } from "../../sdk/test/support/chromium.ts";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { startAgentSite, type AgentSite } from "./support/agent-site.ts";
import { openConsole, type ConsolePage } from "./support/open-console.ts";

const options = { skip: WITHOUT_CHROMIUM || WITHOUT_GIT, timeout: 180_000 };

describe("the first day", options, () => {
  let site: AgentSite;
  let repository: FixtureRepository;
  let console: ConsolePage;
  before(async () => {
    repository = await createFixtureRepository();
    await repository.write({ "src/main.ts": "one\ntwo\n", "README.md": "three\n" });
    await repository.commit("2026-11-20T09:15:00Z");
    site = await startAgentSite();
    await site.deploy("repository-report");
  });
  after(async () => {
    await console?.close();
    await site?.stop();
    await repository?.[Symbol.asyncDispose]();
  });

  test("from the printed link to the form of the example", async () => {
    console = await openConsole(site.server);
    const { page } = console;
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.getByRole("region", { name: "First steps" }).getByRole("link", { name: "tasks" }).click();
    await page.getByRole("link", { name: "Start repository-report" }).click();
    await page.getByRole("heading", { name: "Start repository-report" }).waitFor();
  });

  test("from the form to the run, and to its report", async () => {
    const { page } = console;
    const output = join(site.folder, "report");
    await page.getByLabel("path (optional)").fill(repository.root);
    await page.getByLabel("output (optional)").fill(output);
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.waitForURL(/\/runs\/run_/);
    const id = page.url().split("/").at(-1) ?? "";
    const run = await site.client.runs.wait(id, { timeout: "100s" });
    assert.equal(run.status, "succeeded", JSON.stringify(run.failure));
    assert.deepEqual(run.payload, { path: repository.root, output });
    const { json, complete, totals } = run.output as {
      json: string;
      complete: boolean;
      totals: { files: number };
    };
    assert.deepEqual([complete, totals.files], [true, 2]);
    assert.equal((JSON.parse(await readFile(json, "utf8")) as { run_id: string }).run_id, id);
  });

  test("back to the task, which knows of the run, and to the overview, which has no first steps any more", async () => {
    const { page } = console;
    await console.goto("tasks/repository-report");
    await page.getByText(/^1 ended: 1 succeeded/).waitFor();
    await page.getByRole("link", { name: "Overview" }).click();
    await page.getByRole("region", { name: "Queue by queue" }).waitFor();
    await page.getByRole("region", { name: "First steps" }).waitFor({ state: "detached" });
    assert.deepEqual(console.foreign, []);
    assert.deepEqual(console.problems, []);
  });
});

describe("what is undone later", options, () => {
  let scene: RunScene;
  let console: ConsolePage;
  before(async () => {
    scene = await startRunScene({ tasks: [{ id: "report", description: "As it was." }] });
    console = await openConsole(scene.server);
  });
  after(async () => {
    await console?.close();
    await scene?.stop();
  });

  test("a schedule that comes too often is paused", async () => {
    const { page } = console;
    const { body } = await scene.call("POST", "/api/schedules", {
      body: { deduplication_key: "too often", task: "report", cron: "* * * * * *" },
    });
    await page.getByRole("link", { name: "Schedules" }).click();
    await page.getByRole("link", { name: "too often" }).click();
    await page.getByRole("button", { name: "Deactivate" }).click();
    await page.getByText("Inactive schedules do not run.").waitFor();
    const schedule = (await scene.call("GET", `/api/schedules/${body.id}`)).body;
    assert.deepEqual([schedule.active, schedule.status, schedule.next_run_at], [false, "inactive", null]);
  });

  test("a deployment that was a mistake is rolled back", async () => {
    const { page } = console;
    const first = (await scene.call("GET", "/v1/deployments/current")).body;
    const mistake = await scene.deploy({ tasks: [{ id: "report", description: "A mistake." }] });
    await page.getByRole("link", { name: "Deployments" }).click();
    await page.getByRole("link", { name: mistake.version }).waitFor();
    await page.getByRole("link", { name: first.version }).click();
    await page.getByRole("button", { name: "Roll back to it" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("A mistake.").waitFor();
    await dialog.getByRole("button", { name: "Roll back" }).click();
    await page.getByText("current", { exact: true }).waitFor();
    assert.equal((await scene.call("GET", "/v1/deployments/current")).body.id, first.id);
    await page.getByRole("link", { name: "Tasks" }).click();
    await page.getByText("As it was.").waitFor();
    assert.deepEqual(console.problems, []);
  });
});
