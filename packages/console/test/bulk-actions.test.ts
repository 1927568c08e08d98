// Many runs are cancelled and replayed from the page of runs, in headless Chromium.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { WITHOUT_CHROMIUM } from "../../sdk/test/support/chromium.ts";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { openConsole, type ConsolePage } from "./support/open-console.ts";

const options = { skip: WITHOUT_CHROMIUM, timeout: 180_000 };
const RUNS = 500;

describe("bulk actions", options, () => {
  let scene: RunScene;
  let console: ConsolePage;
  before(async () => {
    scene = await startRunScene({ tasks: [{ id: "report" }] });
    const starts = Array.from({ length: RUNS }, () => ({ task: "report", tags: ["wrong"] }));
    const answer = await scene.call("POST", "/v1/tasks/start-batch", { body: { starts } });
    assert.equal(answer.status, 200, answer.text);
    await scene.start("report", { tags: ["right"] });
    console = await openConsole(scene.server);
  });
  after(async () => {
    await console?.close();
    await scene?.stop();
  });

  const counts = async (): Promise<Record<string, number>> =>
    (await scene.call("GET", "/api/runs/counts")).body.counts as Record<string, number>;

  test("cancel all runs of a filter, after a count", async () => {
    const { page } = console;
    await console.goto("runs?tag=wrong");
    await page.getByRole("button", { name: "Cancel runs" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(`This is about ${RUNS} runs.`).waitFor();
    assert.deepEqual(await console.violations(), []);
    assert.equal((await counts())["queued"], RUNS + 1);
    await dialog.getByRole("button", { name: `Cancel ${RUNS} runs` }).click();
    await dialog.getByText(`Completed: ${RUNS} runs cancelled, 0 skipped, 0 failed.`).waitFor();
    await dialog.getByRole("list", { name: "Items" }).getByText("cancelled").first().waitFor();
    assert.deepEqual(await console.violations(), []);
    const { queued, cancelled } = await counts();
    assert.deepEqual([queued, cancelled], [1, RUNS]);
    await dialog.getByRole("button", { name: "Done" }).click();
  });

  test("say when the filters show no run that they are for", async () => {
    const { page } = console;
    await console.goto("runs?tag=wrong&status=cancelled");
    await page.getByRole("button", { name: "Cancel runs" }).click();
    await page.getByText("The filters show only runs that have ended.").waitFor();
    await page.getByRole("button", { name: "Close", exact: true }).click();
    await page.getByRole("button", { name: "Replay runs" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: `Replay ${RUNS} runs` }).click();
    await dialog.getByText(`Completed: ${RUNS} runs replayed, 0 skipped, 0 failed.`).waitFor();
    assert.equal((await counts())["queued"], RUNS + 1);
  });
});
