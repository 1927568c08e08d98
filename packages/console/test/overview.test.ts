// The first page of an environment: how it is, what it weighs, and how soon it can be used.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { WITHOUT_CHROMIUM } from "../../sdk/test/support/chromium.ts";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { isLong } from "../../server/test/support/seeded-random.ts";
import { openConsole, type ConsolePage } from "./support/open-console.ts";
import { sumQueues } from "../src/features/overview/summarize-activity.ts";

const options = { skip: WITHOUT_CHROMIUM, timeout: 120_000 };

/** All scripts that the first page runs before it is whole. */
const MAX_FIRST_PAGE_BYTES = 130 * 1024;
/** The charts come after it. */
const OF_CHARTS = /\/(run-charts|draw-chart)-/;
const MAX_CHARTS_BYTES = 32 * 1024;
/** Of a quiet machine it is a fraction of this, which the test prints. */
const MAX_INTERACTIVE_MS = 15_000;

describe("the overview", options, () => {
  let scene: RunScene;
  let console: ConsolePage;
  let failedId: string;
  let stuckId: string;
  before(async () => {
    // Nobody renews the lease: the run that holds its queue's slot keeps it for as long as these tests may take.
    scene = await startRunScene(
      {
        tasks: [{ id: "report" }, { id: "narrow", queue: "narrow" }],
        queues: [{ name: "narrow", concurrency_limit: 1 }],
      },
      { config: { leaseDurationMs: 300_000 } },
    );
    failedId = (await scene.start("report")).id;
    await scene.worker.finish(await scene.worker.takeOne(), "failed", {
      failure: { kind: "application_error", message: "The disk is full", retryable: false },
    });
    await scene.start("narrow");
    await scene.worker.takeOne();
    stuckId = (await scene.start("narrow")).id;
    await scene.call("POST", "/v1/tokens", { body: {} });
    console = await openConsole(scene.server);
  });
  after(async () => {
    await console?.close();
    await scene?.stop();
  });

  test("says what runs, what waits and why, and what failed, each with a link to it", async () => {
    const { page, at } = console;
    await console.goto("");
    const stuck = page.getByRole("region", { name: "Waiting runs" });
    await stuck.getByText("queue limit").waitFor();
    assert.equal(
      await stuck.getByRole("link", { name: "narrow" }).getAttribute("href"),
      new URL(at(`runs/${stuckId}`)).pathname,
    );
    const failed = page.getByRole("region", { name: "Failed runs" });
    await failed.getByText("The disk is full").waitFor();
    assert.equal(
      await failed.getByRole("link").getAttribute("href"),
      new URL(at(`runs/${failedId}`)).pathname,
    );
    await page
      .getByRole("region", { name: "Queue by queue" })
      .getByRole("cell", { name: "1 at once" })
      .waitFor();
    await page.getByRole("link", { name: /^Pending tokens\s*1/ }).waitFor();
    await page.getByRole("link", { name: /^Current deployment\s*\d{8}\.1/ }).waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("overview");
  });

  test("follows what happens", async () => {
    await scene.cancelAll();
    await console.page.getByRole("region", { name: "Waiting runs" }).waitFor({ state: "detached" });
  });

  test("an environment without anything says the next steps", async () => {
    const { page } = console;
    await page.getByLabel("Environment").selectOption({ label: "Default / Production" });
    const deploy = `keelson login ${scene.server.url}\nkeelson environment use production --project default\nkeelson deploy`;
    await page.getByText(deploy).waitFor();
    await page.getByText("npm create keelson my-app").waitFor();
    await page.getByText("keelson task start hello --wait").waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("overview-empty");
  });

  test("fits a narrow screen", async () => {
    const { page } = console;
    await page.setViewportSize({ width: 390, height: 800 });
    await console.goto("");
    await page.getByRole("region", { name: "Failed runs" }).waitFor();
    assert.equal(await page.evaluate("document.querySelector('#content').scrollWidth <= innerWidth"), true);
    await console.screenshot("overview-narrow");
  });

  test("all that it loads is small, and it can be used soon", async (t) => {
    const { page, context } = console;
    const fresh = await context.newPage();
    const scripts = new Map<string, number>();
    const reads: Promise<void>[] = [];
    fresh.on("response", (response) => {
      if (!response.url().endsWith(".js")) return;
      reads.push(response.body().then((body) => void scripts.set(response.url(), gzipSync(body).length)));
    });
    await fresh.goto(console.at(""));
    await fresh.getByRole("region", { name: "Failed runs" }).waitFor();
    const usableMs = Math.round(Number(await fresh.evaluate("performance.now()")));
    // The charts come last: no script is on its way when the page is closed.
    await fresh.locator("canvas").nth(5).waitFor();
    await Promise.all(reads);
    const sum = (isMeant: (url: string) => boolean): number =>
      [...scripts].reduce((total, [url, size]) => total + (isMeant(url) ? size : 0), 0);
    const bytes = sum((url) => !OF_CHARTS.test(url));
    assert.ok(sum((url) => OF_CHARTS.test(url)) <= MAX_CHARTS_BYTES);
    t.diagnostic(`${scripts.size} scripts, ${bytes} bytes compressed, whole after ${usableMs} ms`);
    assert.ok(scripts.size > 0);
    assert.ok(bytes <= MAX_FIRST_PAGE_BYTES, `${bytes} bytes`);
    if (isLong()) assert.ok(usableMs <= MAX_INTERACTIVE_MS, `${usableMs} ms`);
    await fresh.close();
    assert.ok(!page.isClosed());
  });

  test("asks nobody but its server, and breaks no rule of its own", () => {
    assert.deepEqual(console.foreign, []);
    assert.deepEqual(console.problems, []);
  });
});

describe("what the overview makes of an activity", () => {
  test("all queues as one", () => {
    const queue = {
      queue: "a",
      queued: 1,
      delayed: 2,
      running: 3,
      waiting: 4,
      concurrency_limit: null,
      concurrency_key_limit: null,
    };
    const sums = sumQueues([
      { ...queue, oldest_queued_at: null },
      { ...queue, oldest_queued_at: "2026-11-20T09:15:01.000Z" },
      { ...queue, oldest_queued_at: "2026-11-20T09:15:00.000Z" },
    ]);
    assert.deepEqual(sums, {
      queued: 3,
      delayed: 6,
      running: 9,
      waiting: 12,
      oldestQueuedAt: "2026-11-20T09:15:00.000Z",
    });
  });
});
