// Runs over time: the charts of the overview and of a task, their windows, and the figures of the tasks' list.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { RunFigures, RunMetrics } from "@keelson/contract";
import { WITHOUT_CHROMIUM } from "../../sdk/test/support/chromium.ts";
import { sampleRunGauges } from "../../server/src/core/run-rollups/sample-run-gauges.ts";
import { countEnded } from "../../server/test/support/count-runs.ts";
import { failRun } from "../../server/test/support/failed-run.ts";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { chartsOf, isEmpty, runsPerDay } from "../src/features/metrics/chart-series.ts";
import { openConsole, type ConsolePage } from "./support/open-console.ts";

const options = { skip: WITHOUT_CHROMIUM, timeout: 120_000 };
const MINUTE_MS = 60_000;

/** Ends runs of `report` over some minutes, and fails some of them. */
async function fillScene(scene: RunScene): Promise<void> {
  const { server, clock, worker } = scene;
  for (let round = 0; round < 12; round += 1) {
    for (let run = 0; run <= round % 4; run += 1) {
      await scene.start("report");
      clock.advance(200 * (round + 1));
      const lease = await worker.takeOne();
      await worker.report(lease.operation("start"));
      clock.advance(900 * (run + 1));
      await worker.report(lease.operation("release", { outcome: "succeeded" }));
    }
    if (round % 3 === 0) await failRun(scene, "report", { message: "no price" });
    await scene.start("later", { delay: "1h" });
    await server.db.transaction((tx) => sampleRunGauges(tx, clock.now(), 1));
    clock.advance(3 * MINUTE_MS);
    await worker.renewToken();
  }
  await countEnded(server.db, clock.now);
}

describe("runs over time", options, () => {
  let scene: RunScene;
  let console: ConsolePage;
  before(async () => {
    scene = await startRunScene(
      { tasks: [{ id: "report", description: "Sends the weekly report." }, { id: "later" }, { id: "idle" }] },
      { config: { leaseDurationMs: 300_000 } },
    );
    await fillScene(scene);
    console = await openConsole(scene.server);
  });
  after(async () => {
    await console?.close();
    await scene?.stop();
  });

  test("the overview has charts of the last day, and other windows are in its address", async () => {
    const { page } = console;
    await console.goto("");
    const section = page.getByRole("region", { name: "Last 24 hours" });
    await section.getByText(/^34 ended: 30 succeeded, 4 failed/).waitFor();
    await section.locator("canvas").nth(5).waitFor();
    await console.screenshot("metrics-overview");
    assert.deepEqual(await console.violations(), []);
    for (const [button, name, search] of [
      ["1 hour", "Last hour", "?window=1h"],
      ["30 days", "Last 30 days", "?window=30d"],
    ] as const) {
      await page.getByRole("button", { name: button }).click();
      await page
        .getByRole("region", { name })
        .getByText(/^34 ended/)
        .waitFor();
      assert.equal(new URL(page.url()).search, search);
    }
    await page.reload();
    await page
      .getByRole("region", { name: "Last 30 days" })
      .getByText(/^34 ended/)
      .waitFor();
    assert.equal(await page.getByRole("button", { name: "30 days" }).getAttribute("aria-pressed"), "true");
    await page.getByRole("button", { name: "24 hours" }).click();
    await page.getByRole("region", { name: "Last 24 hours" }).waitFor();
    assert.equal(new URL(page.url()).search, "");
  });

  test("a chart is read with the keyboard, and as a table", async () => {
    const { page } = console;
    await console.goto("?window=1h");
    const chart = page.getByRole("slider", { name: "Ended runs, by time" });
    await chart.press("Home");
    assert.equal(await chart.getAttribute("aria-valuenow"), "0");
    assert.match((await chart.getAttribute("aria-valuetext")) ?? "", /: Succeeded 0, Failed 0, Cancelled 0$/);
    await chart.press("ArrowRight");
    assert.equal(await chart.getAttribute("aria-valuenow"), "1");
    await chart.press("End");
    assert.equal(await chart.getAttribute("aria-valuenow"), "59");
    await page.getByText("As a table: Ended runs").click();
    const table = page.getByRole("region", { name: "Ended runs as a table" });
    // Of the twelve rounds, and what heads them. It is made once the table is open.
    await table.getByRole("row").nth(12).waitFor();
    await chart.hover();
    await page.waitForFunction("document.querySelector('[role=slider]').ariaValueNow !== '59'");
  });

  test("the list of tasks has each one's last run, rate and durations, and leads to its charts", async () => {
    const { page } = console;
    await console.goto("tasks");
    const row = page.getByRole("row", { name: /^report/ });
    await row.getByText("11.8 %").waitFor();
    assert.match((await row.textContent()) ?? "", /Sends the weekly report\.succeeded/);
    const idle = page.getByRole("row", { name: /^idle/ });
    assert.match((await idle.textContent()) ?? "", /none0––/);
    await console.screenshot("metrics-tasks");
    assert.deepEqual(await console.violations(), []);
    await page.getByRole("button", { name: "7 days" }).click();
    await row.getByRole("link", { name: "report", exact: true }).click();
    const section = page.getByRole("region", { name: "Last 7 days" });
    await section.getByText(/^34 ended: 30 succeeded/).waitFor();
    assert.equal(await section.getByRole("slider").count(), 3);
    await section.locator("canvas").nth(2).waitFor();
    await page.getByRole("button", { name: "1 hour" }).click();
    await page.getByRole("region", { name: "Last hour" }).locator("canvas").nth(2).waitFor();
    await console.screenshot("metrics-task");
    assert.deepEqual(await console.violations(), []);
  });

  test("a task without runs says so", async () => {
    const { page } = console;
    await console.goto("tasks/idle");
    await page.getByText("No run ended in this time.").first().waitFor();
    await console.screenshot("metrics-empty");
    assert.deepEqual(await console.violations(), []);
  });

  test("nothing moves when the figures come", async () => {
    const { page, context } = console;
    const fresh = await context.newPage();
    await fresh.addInitScript(`globalThis.shift = 0; new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) globalThis.shift += entry.value;
    }).observe({ type: "layout-shift", buffered: true });`);
    await fresh.goto(console.at("tasks/report?window=1h"));
    await fresh.getByRole("region", { name: "Last hour" }).locator("canvas").nth(2).waitFor();
    const charts = await fresh.evaluate(
      "document.querySelector('[role=slider]').getBoundingClientRect().height",
    );
    assert.ok(Number(charts) > 170);
    assert.ok(Number(await fresh.evaluate("globalThis.shift")) < 0.1);
    await fresh.close();
    assert.ok(!page.isClosed());
  });

  test("what cannot be read is said, and can be tried again", async () => {
    const { page } = console;
    await page.route("**/api/runs/metrics?**", (route) => route.fulfill({ status: 500, json: {} }));
    await console.goto("tasks/report");
    const again = page.getByRole("button", { name: "Try again" });
    await again.waitFor();
    await page.unroute("**/api/runs/metrics?**");
    await again.click();
    await page.getByText(/^34 ended/).waitFor();
    console.problems.length = 0;
  });

  test("fits a narrow screen", async () => {
    const { page } = console;
    await page.setViewportSize({ width: 390, height: 800 });
    for (const [path, name] of [
      ["tasks/report?window=1h", "metrics-task-narrow"],
      ["tasks", "metrics-tasks-narrow"],
      ["?window=1h", "metrics-overview-narrow"],
    ] as const) {
      await console.goto(path);
      await page
        .getByText(path === "tasks" ? "11.8 %" : /^34 ended/)
        .first()
        .waitFor();
      if (path !== "tasks") await page.locator("canvas").first().waitFor();
      assert.equal(await page.evaluate("document.querySelector('#content').scrollWidth <= innerWidth"), true);
      await console.screenshot(name);
    }
    assert.deepEqual(console.foreign, []);
    assert.deepEqual(console.problems, []);
  });
});

describe("what charts make of metrics", () => {
  const figures: RunFigures = {
    ...{ ended: 4, succeeded: 2, failed: 1, cancelled: 1, expired: 0, system_failed: 0, failure_rate: 1 / 3 },
    queue_time_ms: null,
    duration_ms: { p50: 800, p95: 1_500, p99: 61_000 },
  };
  const at = "2026-11-20T09:15:00.000Z";
  const metrics: RunMetrics = {
    ...{ at, since: at, window: "1h", history_complete: true, task: "a", actor: null, bucket_ms: 60_000 },
    ...{ total: figures, buckets: [{ at, ...figures }], gauges: null },
  };

  test("sentences, values and what is empty", () => {
    const [ended, duration, queued] = chartsOf(metrics);
    assert.equal(ended?.summary, "4 ended: 2 succeeded, 1 failed (33.3 %), 1 cancelled.");
    assert.match(
      duration?.summary ?? "",
      /^Half of the runs took at most 800 ms, 95 % at most 1\.5 s, 99 % /,
    );
    assert.deepEqual(
      duration?.series.map(({ values }) => values[0]),
      [800, 1_500, 61_000],
    );
    assert.ok(queued !== undefined && isEmpty(queued) && duration !== undefined && !isEmpty(duration));
    assert.equal(chartsOf(metrics).length, 3);
    assert.equal(chartsOf({ ...metrics, gauges: [] }).length, 6);
  });

  test("runs per day, from the time that has passed", () => {
    const of = (ended: number) => ({ ...figures, ended, task: "a", actor: null, last_run: null });
    assert.equal(runsPerDay(of(24), "2026-11-20T00:00:00Z", "2026-11-20T12:00:00Z"), "48");
    assert.equal(runsPerDay(of(1), "2026-11-10T00:00:00Z", "2026-11-20T00:00:00Z"), "0.1");
    assert.equal(runsPerDay(of(0), at, at), "0");
  });
});
