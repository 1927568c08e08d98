// The page of runs in headless Chromium.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { WITHOUT_CHROMIUM } from "../../sdk/test/support/chromium.ts";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { fillRuns } from "./support/fill-runs.ts";
import { releaseFailed } from "../../server/test/support/failed-run.ts";
import type { HeldLease } from "../../server/test/support/raw-worker.ts";
import { isLong } from "../../server/test/support/seeded-random.ts";
import { until } from "../../server/test/support/until.ts";
import { openConsole, type ConsolePage } from "./support/open-console.ts";

const options = { skip: WITHOUT_CHROMIUM, timeout: 180_000 };
const MANY = isLong() ? 20_000 : 2_000;

/** Scrolls through the grid to its end; what it showed, by row, and the pace of its frames at both ends. */
const SCROLL_THROUGH = `(async () => {
  const grid = document.querySelector("[role=grid]");
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const rows = new Map(), doubled = [], paces = [];
  let mostElements = 0, last = 0;
  const headings = 36, rowPx = 36;
  for (;;) {
    last = performance.now();
    await frame();
    paces.push(performance.now() - last);
    // What is in sight must be drawn before it is scrolled away: on a busy machine that takes some frames.
    const wanted = Math.floor((grid.scrollTop + grid.clientHeight - headings) / rowPx) - 1;
    while (![...grid.querySelectorAll("[role=row][id]")].some((row) => Number(row.ariaRowIndex) - 2 >= wanted)) await frame();
    for (const row of grid.querySelectorAll("[role=row][id]")) {
      const index = Number(row.ariaRowIndex) - 2, id = row.id.split("-").at(-1);
      if (rows.has(index) && rows.get(index) !== id) doubled.push([index, id]);
      rows.set(index, id);
    }
    mostElements = Math.max(mostElements, document.getElementsByTagName("*").length);
    const end = grid.scrollHeight - grid.clientHeight;
    if (grid.getAttribute("aria-rowcount") !== "-1" && grid.scrollTop >= end - 1) break;
    // Never past what has been looked at: the next rows must come into sight.
    grid.scrollTop = Math.min(end, grid.scrollTop + grid.clientHeight);
  }
  const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
  const tenth = Math.floor(paces.length / 10);
  return { ids: [...rows].sort(([a], [b]) => a - b).map(([, id]) => id), indexes: rows.size, doubled, mostElements,
    first: median(paces.slice(0, tenth)), last: median(paces.slice(-tenth)) };
})()`;

const failedBy = (lease: HeldLease, message: string): object[] => [
  lease.operation("start"),
  lease.operation("release", releaseFailed({ message })),
];

describe("the page of runs", options, () => {
  let scene: RunScene;
  let console: ConsolePage;
  const scrollTop = () => console.page.evaluate('document.querySelector("[role=grid]").scrollTop');
  const grid = () => console.page.getByRole("grid", { name: "Runs" });
  before(async () => {
    scene = await startRunScene({ tasks: [{ id: "report" }, { id: "other" }] });
    console = await openConsole(scene.server);
  });
  after(async () => {
    await console?.close();
    await scene?.stop();
  });

  test("says what to do when there are none", async () => {
    await console.goto("runs");
    await console.page.getByText("keelson task start").waitFor();
    assert.deepEqual(await console.violations(), []);
  });

  test("shows a new run, and what becomes of it, where it stands", async () => {
    const { page } = console;
    const run = await scene.start("report", { tags: ["first"] });
    const row = grid().getByRole("row", { name: /first/ });
    await row.getByText("queued").waitFor();
    assert.equal(run.id, (await row.getAttribute("id"))?.split("-").at(-1));
    await scene.worker.finish(await scene.worker.takeOne());
    await row.getByText("succeeded").waitFor();
    await page.getByRole("button", { name: /succeeded\s*1$/ }).waitFor();
    assert.deepEqual(await console.violations(), []);
  });

  test("keeps its filters in the address", async () => {
    const { page } = console;
    const other = await scene.start("other", { tags: ["second", "x"] });
    const rows = grid().getByRole("row", { name: /report|other/ });
    await rows.nth(1).waitFor();
    await page.getByRole("button", { name: /^queued/ }).click();
    await page.getByRole("combobox", { name: "Task or actor" }).selectOption("other");
    await page.getByRole("searchbox", { name: "Search runs" }).fill("tag:second");
    await page.keyboard.press("Enter");
    await page.waitForURL(/search=/);
    const { searchParams } = new URL(page.url());
    assert.deepEqual(
      ["status", "task", "search"].map((name) => searchParams.get(name)),
      ['["queued"]', "other", "tag:second"],
    );
    await page.reload();
    await grid().getByText("other").waitFor();
    assert.equal(await rows.count(), 1);
    await page.getByRole("button", { name: "As a command" }).click();
    await page
      .getByText(/v1\/runs\?status=queued&task=other&search=tag%3Asecond|v1\/runs\?.*search=tag%3Asecond/)
      .waitFor();
    await page.getByText("keelson run list --status queued --task other --search tag:second").waitFor();
    await page.keyboard.press("Escape");
    await scene.cancel(other.id);
    // Its row stays where it is: what somebody looks at does not vanish.
    await grid().getByText("cancelled").waitFor();
    await page.goBack();
    await page.waitForURL((url) => !url.searchParams.has("search"));
    await console.goto("runs?task=none");
    await page.getByText("No runs match these filters").waitFor();
    await page.getByRole("button", { name: "Show all runs" }).click();
    await rows.nth(1).waitFor();
  });

  test("finds a run by a word of its payload, and shows columns that are chosen", async () => {
    const { page } = console;
    const wanted = await scene.start("report", { payload: { customer: "Grace Hopper" } });
    await console.goto("runs");
    const box = page.getByRole("searchbox", { name: "Search runs" });
    await box.fill("payload:hopper nothing:");
    await page.keyboard.press("Enter");
    await page.getByText(/There is no field nothing/).waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("search-mistake");
    await box.fill("payload:hopper");
    await page.keyboard.press("Enter");
    await page.waitForURL(/search=payload/);
    const rows = grid().locator("[role=row][id]");
    await until("one row is left", 60_000, async () => (await rows.count()) === 1);
    assert.equal((await rows.first().getAttribute("id"))?.split("-").at(-1), wanted.id);
    await scene.worker.report(...failedBy(await scene.worker.takeOne(), "no answer from host 7"));
    await page.getByRole("button", { name: "Columns" }).click();
    await page.getByRole("menuitemcheckbox", { name: "Error" }).click();
    await page.getByRole("menuitemcheckbox", { name: "Attempt" }).click();
    await page.keyboard.press("Escape");
    await rows.getByText("no answer from host 7").waitFor();
    await grid().getByRole("columnheader", { name: "Attempt" }).waitFor({ state: "detached" });
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("search-columns");
    await page.setViewportSize({ width: 390, height: 800 });
    await console.screenshot("search-narrow");
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByRole("checkbox", { name: "Hide child runs" }).check();
    await page.waitForURL(/hide=/);
    await rows.first().waitFor();
    await box.fill("payload:nobody");
    await page.keyboard.press("Enter");
    await page.getByText("No runs match these filters").waitFor();
    await console.goto("runs");
  });

  test("saves a view, and opens it in another browser that is signed in again", async () => {
    const { page } = console;
    await console.goto("runs?search=payload:hopper&columns=%5B%22error%22%5D");
    await page.getByRole("button", { name: "Views" }).click();
    await page.getByText("No saved views yet.").waitFor();
    // Typed at once: the dialog is for its field.
    await page.keyboard.type("Hoppers");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Hoppers", exact: true }).waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("saved-views");
    const other = await openConsole(scene.server);
    try {
      await other.goto("runs");
      await other.page.getByRole("button", { name: "Views" }).click();
      await other.page.getByRole("button", { name: "Hoppers", exact: true }).click();
      await other.page.waitForURL(/search=payload/);
      const row = other.page.getByRole("grid", { name: "Runs" }).locator("[role=row][id]");
      await row.getByText("no answer from host 7").waitFor();
      assert.equal(await row.count(), 1);
      await other.page.getByRole("button", { name: "Views" }).click();
      await other.page.getByRole("button", { name: "Rename Hoppers" }).click();
      await other.page.getByRole("textbox", { name: /^New name/ }).fill("Graces");
      await other.page.keyboard.press("Enter");
      await other.page.getByRole("button", { name: "Delete Graces" }).click();
      await other.page.getByText("No saved views yet.").waitFor();
      assert.deepEqual(other.problems, []);
    } finally {
      await other.close();
    }
    await page.keyboard.press("Escape");
    await console.goto("runs");
  });

  test("cancels the runs that are chosen", async () => {
    const { page } = console;
    const [chosen, other] = [await scene.start("other"), await scene.start("other")];
    await console.goto("runs?status=queued");
    await page.getByRole("checkbox", { name: `Select run ${chosen.id}` }).check();
    await page.getByRole("button", { name: "Cancel 1 selected" }).click();
    await page.getByText("This is about 1 run.").waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("chosen");
    await page.getByRole("button", { name: "Cancel 1 run", exact: true }).click();
    await until(
      "the chosen one is cancelled",
      60_000,
      async () => (await scene.get(chosen.id)).status === "cancelled",
    );
    assert.equal((await scene.get(other.id)).status, "queued");
    await scene.cancel(other.id);
    await console.goto("runs");
  });

  test("scrolls through many, with few of them in the page, none missing and none twice", async (t) => {
    const [newest] = (await scene.call("GET", "/v1/runs?limit=1")).body.runs;
    await fillRuns(scene.server, newest.id, MANY);
    const { page } = console;
    await page.setViewportSize({ width: 1280, height: 3600 });
    await page.reload();
    await grid().getByText("n50", { exact: true }).waitFor();
    const seen = (await page.evaluate(SCROLL_THROUGH)) as {
      ids: string[];
      indexes: number;
      doubled: unknown[];
      mostElements: number;
      first: number;
      last: number;
    };
    assert.deepEqual(seen.doubled, []);
    assert.equal(seen.ids.length, MANY + 5);
    assert.equal(new Set(seen.ids).size, MANY + 5);
    assert.ok(seen.mostElements < 5000, `${seen.mostElements} elements`);
    t.diagnostic(
      `${seen.mostElements} elements at most; a frame took ${seen.first.toFixed(1)} ms at the beginning, ${seen.last.toFixed(1)} ms at the end`,
    );
    assert.ok(seen.last < 10 * Math.max(seen.first, 16), "the end is not slower than the beginning");
  });

  test("announces what is new to who looks at old ones, and moves nothing", async () => {
    const { page } = console;
    const before = await scrollTop();
    await Promise.all([scene.start("report", { tags: ["fresh"] }), scene.start("report")]);
    const button = page.getByRole("button", { name: "2 new runs" });
    await button.waitFor();
    assert.equal(await scrollTop(), before);
    await button.click();
    await grid().getByText("fresh").waitFor();
    assert.equal(await scrollTop(), 0);
    await scene.cancelAll();
  });

  test("opens a run by the keyboard alone", async () => {
    const { page } = console;
    await page.setViewportSize({ width: 1280, height: 800 });
    await console.goto("runs?status=cancelled&task=other");
    await grid().getByText("other").first().waitFor();
    await grid().focus();
    for (const key of ["j", "j", "k", "Enter"]) await page.keyboard.press(key);
    await page.waitForURL(/\/runs\/run_/);
  });

  test("asks nobody but its server, and breaks no rule of its own", () => {
    assert.deepEqual(console.foreign, []);
    assert.deepEqual(console.problems, []);
  });
});
