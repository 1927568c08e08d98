// Schedules: when they come due, what became of each time, and changing them.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { WITHOUT_CHROMIUM } from "../../sdk/test/support/chromium.ts";
import { until } from "../../server/test/support/until.ts";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { addUser } from "../../server/test/support/tenancy.ts";
import { describeCron } from "../src/features/schedules/describe-cron.ts";
import { openConsole, type ConsolePage } from "./support/open-console.ts";

const options = { skip: WITHOUT_CHROMIUM, timeout: 120_000 };

describe("schedules", options, () => {
  let scene: RunScene;
  let console: ConsolePage;
  before(async () => {
    scene = await startRunScene({
      tasks: [{ id: "report" }, { id: "other" }],
      schedules: [],
    });
    console = await openConsole(scene.server);
  });
  after(async () => {
    await console?.close();
    await scene?.stop();
  });

  const schedules = async () => (await scene.call("GET", "/api/schedules")).body.schedules;
  const idOfPage = (): string => /sched_\w+/.exec(console.page.url())?.[0] ?? "";

  test("without any, the page says how to make one", async () => {
    const { page } = console;
    await console.goto("schedules");
    await page.getByText("No schedules yet").waitFor();
    assert.deepEqual(await console.violations(), []);
  });

  test("a new one shows its times while it is written, and what is wrong with it", async () => {
    const { page } = console;
    await page.getByRole("link", { name: "New schedule" }).click();
    await page.getByLabel("deduplication_key").fill("nightly report");
    await page.getByLabel("task", { exact: true }).selectOption("report");
    await page.getByLabel("timezone").selectOption("Europe/Berlin");
    await page.getByLabel("cron").fill("30 7 * * 9");
    await page.getByRole("region", { name: "Comes due" }).getByRole("alert").waitFor();
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByText("Code invalid_cron").waitFor();
    assert.equal(await page.getByLabel("cron").getAttribute("aria-invalid"), "true");
    await page.getByLabel("cron").fill("30 7 * * MON-FRI");
    await page.getByText("At 07:30, Monday through Friday").waitFor();
    await page.getByRole("columnheader", { name: "In Europe/Berlin" }).waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("new-schedule");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { name: "nightly report" }).waitFor();
    const [schedule] = await schedules();
    assert.equal(page.url(), console.at(`schedules/${schedule.id}`));
    assert.deepEqual(
      [schedule.task, schedule.cron, schedule.timezone, schedule.active],
      ["report", "30 7 * * MON-FRI", "Europe/Berlin", true],
    );
  });

  test("an edited one keeps what is not changed", async () => {
    const { page } = console;
    await page.getByRole("link", { name: "Edit" }).click();
    await page.getByLabel("cron").fill("* * * * *");
    await page.getByText("Run options").click();
    await page.getByLabel("priority (optional)").fill("5");
    await page.getByRole("button", { name: "Save" }).click();
    // The form says when it comes due as well, before it is saved.
    await page.getByRole("heading", { name: "nightly report", exact: true }).waitFor();
    await page.getByText("Every minute").waitFor();
    const [schedule] = await schedules();
    assert.deepEqual(
      [schedule.cron, schedule.timezone, schedule.options, schedule.deduplication_key],
      ["* * * * *", "Europe/Berlin", { priority: 5 }, "nightly report"],
    );
  });

  test("each due time is a mark: one that fired leads to its run, one that did not says why", async () => {
    const { page } = console;
    const id = idOfPage();
    const occurrences = async () =>
      (await scene.call("GET", `/api/schedules/${id}/occurrences`)).body.occurrences;
    scene.clock.advance(60_000);
    await until("a due time", 60_000, async () => (await occurrences()).length > 0);
    await scene.deploy({ tasks: [{ id: "other" }] });
    const settled = (await occurrences()).length;
    scene.clock.advance(60_000);
    await until("a skipped time", 60_000, async () => (await occurrences()).length > settled);
    await page.getByText("It cannot start runs at present").waitFor();
    const ledger = page.getByRole("region", { name: "Past due times" });
    const fired = ledger.getByRole("link", { name: /: fired$/ }).first();
    assert.match((await fired.getAttribute("href")) ?? "", /\/runs\/run_/);
    const skipped = ledger.getByRole("button", { name: /: skipped, / }).last();
    await skipped.focus();
    await ledger
      .getByRole("paragraph")
      .filter({ hasText: /: skipped, .*report/ })
      .waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("schedule");
  });

  test("is paused and goes on", async () => {
    const { page } = console;
    await page.getByRole("button", { name: "Deactivate" }).click();
    await page.getByRole("button", { name: "Activate", exact: true }).waitFor();
    assert.deepEqual((await schedules())[0].status, "inactive");
    await page.getByText("Inactive schedules do not run.").waitFor();
    await page.getByRole("button", { name: "Activate", exact: true }).click();
    await page.getByRole("button", { name: "Deactivate" }).waitFor();
    assert.equal((await schedules())[0].active, true);
  });

  test("a viewer is told that they may not", async () => {
    const { server } = scene;
    const credentials = { ...server.credentials, user_token: await addUser(server, "viewer") };
    const viewer = await openConsole({ ...server, credentials });
    try {
      await viewer.goto(`schedules/${idOfPage()}`);
      await viewer.page.getByRole("button", { name: "Deactivate" }).click();
      await viewer.page
        .getByText(/Request req_|schedules\.write/)
        .first()
        .waitFor();
      assert.equal((await schedules())[0].active, true);
    } finally {
      await viewer.close();
    }
  });

  test("is deleted by typing its name", async () => {
    const { page } = console;
    await page.getByRole("button", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog");
    const confirm = dialog.getByRole("button", { name: "Delete" });
    assert.equal(await confirm.isDisabled(), true);
    await dialog.getByLabel("Type nightly report to confirm").fill("nightly report");
    await confirm.click();
    await page.getByText("No schedules yet").waitFor();
    assert.deepEqual(await schedules(), []);
  });

  test("one that the code declares says where it is changed", async () => {
    const { page } = console;
    await scene.deploy({
      tasks: [{ id: "report" }],
      schedules: [{ id: "declared", task: "report", cron: "0 7 * * *" }],
    });
    await page.getByRole("link", { name: "declared" }).click();
    await page.getByText("Your code declares this schedule").waitFor();
    assert.equal(await page.getByRole("button", { name: "Deactivate" }).count(), 0);
    assert.deepEqual(await console.violations(), []);
  });

  test("one that is not there", async () => {
    await console.goto("schedules/sched_00000000000000000000000000");
    await console.page.getByText("Page not found").waitFor();
    assert.deepEqual(console.foreign, []);
    assert.deepEqual(console.problems, []);
  });
});

describe("a cron expression in words", () => {
  const rows: [string, string | null][] = [
    ["* * * * *", "Every minute"],
    ["30 7 * * MON-FRI", "At 07:30, Monday through Friday"],
    ["0 */6 * * *", "On the hour, every 6 hours"],
    ["*/20 * * * * *", "Every 20 seconds"],
    ["0 0 1 1 *", "At 00:00, on day 1 of the month, only in January"],
    ["nonsense", null],
    ["", null],
  ];
  for (const [cron, words] of rows) test(cron, () => assert.equal(describeCron(cron), words));
});
