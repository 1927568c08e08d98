// The timeline of a run that has slept for days, in headless Chromium.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { WITHOUT_CHROMIUM } from "../../sdk/test/support/chromium.ts";
import { enrollWorker, type HeldLease, type RawWorker } from "../../server/test/support/raw-worker.ts";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { openConsole, type ConsolePage } from "./support/open-console.ts";
import { say } from "./support/run-writes.ts";

const options = { skip: WITHOUT_CHROMIUM, timeout: 180_000 };
const HOUR = 3_600_000;

type Box = { left: number; right: number };

describe("the timeline of a run that slept", options, () => {
  let scene: RunScene;
  let console: ConsolePage;
  let runId: string;
  /** Tells of a step just now. */
  const tellStep = (worker: RawWorker, lease: HeldLease, step: string): Promise<void> => {
    const at = new Date(scene.clock.now()).toISOString();
    const event = { kind: "step.completed", message: "Done.", attributes: { step, duration_ms: 2 }, at };
    return say(worker, lease, { events: [event] });
  };
  before(async () => {
    scene = await startRunScene({ tasks: [{ id: "remind" }] }, { config: { leaseDurationMs: 300_000 } });
    // What it does besides takes milliseconds, which are to be seen.
    scene.clock.run();
    runId = (await scene.start("remind")).id;
    const lease = await scene.worker.takeOne();
    const waits = [{ position: 1, name: "two days", kind: "timer", timeout: "51h" }];
    assert.deepEqual(await scene.worker.report(lease.operation("start")), [200]);
    await tellStep(scene.worker, lease, "ask");
    assert.deepEqual(
      await scene.worker.report(
        lease.operation("waits", { waits, parked: true }),
        lease.operation("checkpoints/ready"),
        lease.operation("release", { outcome: "suspended" }),
      ),
      [200, 200, 200],
    );
    scene.clock.advance(51.5 * HOUR);
    // By then the first worker's credential has expired.
    const later = await enrollWorker(scene.server);
    const again = await later.takeOne();
    assert.deepEqual(await later.report(again.operation("start")), [200]);
    await tellStep(later, again, "remind");
    await later.finish(again);
    console = await openConsole(scene.server);
  });
  after(async () => {
    await console?.close();
    await scene?.stop();
  });

  const timeline = () => console.page.getByRole("region", { name: "Timeline", exact: true });
  const toggle = () => console.page.getByRole("checkbox", { name: "Fold idle time" });
  /** How wide the bars of a kind are, as parts of the axis. */
  const boxes = async (): Promise<{ kind: string; box: Box }[]> =>
    (await console.page.evaluate(`[...document.querySelectorAll("[data-bar]")].map((bar) => {
      const axis = bar.parentElement.getBoundingClientRect(), own = bar.getBoundingClientRect();
      const at = (x) => (x - axis.left) / axis.width;
      return { kind: bar.dataset.bar, box: { left: at(own.left), right: at(own.right) } };
    })`)) as { kind: string; box: Box }[];
  const widthOf = (all: { kind: string; box: Box }[], kind: string): number =>
    Math.max(...all.filter((one) => one.kind === kind).map(({ box }) => box.right - box.left));

  test("folds the days, so that the milliseconds are seen", async () => {
    await console.goto(`runs/${runId}`);
    await timeline().getByText("Suspended").waitFor();
    assert.equal(await toggle().isChecked(), true);
    await timeline().locator("[data-fold]").getByText("2 d 3 h", { exact: true }).waitFor();
    const drawn = await boxes();
    assert.ok(widthOf(drawn, "suspended") < 0.1, JSON.stringify(drawn));
    for (const { box } of drawn) assert.ok(box.left > -0.01 && box.right < 1.02, JSON.stringify(box));
    await timeline().getByRole("treeitem").filter({ hasText: "Suspended" }).getByText("2 d 3 h").waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("run-folded");
  });

  test("gives them their room when asked to, which the address says", async () => {
    const { page } = console;
    await toggle().uncheck();
    await timeline().locator("[data-fold]").first().waitFor({ state: "detached" });
    assert.match(page.url(), /\?fold=false$/);
    await page.reload();
    await timeline().getByText("Suspended").waitFor();
    assert.equal(await toggle().isChecked(), false);
    const drawn = await boxes();
    assert.ok(widthOf(drawn, "suspended") > 0.9, JSON.stringify(drawn));
    await console.screenshot("run-unfolded");
    await toggle().check();
    await timeline().locator("[data-fold]").getByText("2 d 3 h", { exact: true }).waitFor();
    assert.doesNotMatch(page.url(), /fold/);
  });

  test("fits a narrow screen", async () => {
    const { page } = console;
    await page.setViewportSize({ width: 390, height: 800 });
    await timeline().getByText("Suspended").waitFor();
    assert.equal(
      await page.evaluate(
        "(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector('main'))",
      ),
      true,
    );
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("run-folded-narrow");
    assert.deepEqual([console.foreign, console.problems], [[], []]);
  });
});
