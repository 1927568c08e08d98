// The trace of a run in headless Chromium: its spans, and what each of them has.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { WITHOUT_CHROMIUM } from "../../sdk/test/support/chromium.ts";
import type { HeldLease } from "../../server/test/support/raw-worker.ts";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { openConsole, type ConsolePage } from "./support/open-console.ts";

const options = { skip: WITHOUT_CHROMIUM, timeout: 180_000 };

describe("the trace of a run", options, () => {
  let scene: RunScene;
  let console: ConsolePage;
  let lease: HeldLease;
  let childId: string;
  const later = (ms: number): string => {
    scene.clock.advance(ms);
    return new Date(scene.clock.now()).toISOString();
  };
  const write = (text: string, at: string): object => ({
    ...{ stream: "stdout", at },
    data: Buffer.from(text).toString("base64"),
  });
  /** The step's tries and its outcome, as a worker tells them. */
  async function step(held: HeldLease, position: number, name: string, value: unknown): Promise<void> {
    const of = { step: name, position, duration_ms: 40 };
    const failed = {
      kind: "step.failed",
      severity: "warn",
      message: "No answer yet",
      attributes: { ...of, try: 1 },
    };
    const logs = [write(`before ${name}\n`, later(10)), write(`within ${name}\n`, later(45))];
    const failedAt = later(5);
    logs.push(write(`again ${name}\n`, later(30)));
    const at = later(20);
    const done = { kind: "step.completed", message: "It has it.", attributes: { ...of, try: 2 } };
    const events = [
      { at: failedAt, ...failed },
      { at, ...done },
    ];
    logs.push(write(`after ${name}\n`, later(50)));
    const sent = { at: later(5) };
    const operations = [
      held.operation("events", { events, ...sent }),
      held.operation("logs", { chunks: logs, ...sent }),
      held.operation("steps", { entries: [{ position, kind: "step", name, value }], ...sent }),
    ];
    assert.deepEqual(await scene.worker.report(...operations), [200, 200, 200]);
  }
  before(async () => {
    scene = await startRunScene(
      { tasks: [{ id: "report" }, { id: "part" }] },
      { config: { leaseDurationMs: 300_000 } },
    );
    await scene.start("report", { payload: { n: 1 } });
    lease = await scene.worker.takeOne();
    await scene.worker.report(lease.operation("start"));
    await step(lease, 1, "fetch", { pages: 12 });
    const call = lease.operation("child-runs", { position: 2, task: "part", payload: { page: 3 } });
    const [{ result }] = await scene.worker.results(call);
    childId = result.value.id;
    const child = await scene.worker.takeOne();
    await scene.worker.report(child.operation("start"));
    await step(child, 1, "render", ["a", "b"]);
    await scene.worker.report(child.operation("release", { outcome: "succeeded", output: "drawn" }));
    const waits = [{ position: 3, name: "approval", kind: "timer", timeout: "1h" }];
    await scene.worker.results(lease.operation("waits", { waits, parked: true }));
    console = await openConsole(scene.server);
  });
  after(async () => {
    await console?.close();
    await scene?.stop();
  });
  const row = (text: string) => console.page.getByRole("treeitem").filter({ hasText: text });
  const details = () => console.page.getByRole("region", { name: "Details of the span" });
  const region = (name: string) => details().getByRole("region", { name, exact: true });

  test("shows of a step what came of it, its tries, and what was written meanwhile", async () => {
    const { page } = console;
    await console.goto(`runs/${lease.runId}`);
    await row("fetch").getByText("2 tries").waitFor();
    await row("fetch").click();
    await region("Result of the span").getByText('"pages": 12').waitFor();
    await details().getByRole("list", { name: "Events of the span" }).getByText("No answer yet").waitFor();
    await details().getByText("Log lines of this time").click();
    await region("Log lines of the span").getByText("again fetch").waitFor();
    const lines = await region("Log lines of the span").locator("[data-log-row]").allTextContents();
    assert.deepEqual(lines, ["within fetch", "again fetch"]);
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("run-span");
    assert.match(page.url(), /span=e\d+/);
  });

  test("comes back to the span that its address names", async () => {
    const { page } = console;
    await page.reload();
    await region("Result of the span").getByText('"pages": 12').waitFor();
    assert.equal(await row("fetch").getAttribute("aria-selected"), "true");
    await details().getByRole("button", { name: "Close the details" }).click();
    await details().waitFor({ state: "detached" });
    assert.doesNotMatch(page.url(), /span/);
  });

  test("is gone through by keys, into the runs that it started", async () => {
    const { page } = console;
    await row("Attempt 1").focus();
    const press = async (...keys: string[]): Promise<void> => {
      for (const key of keys) await page.keyboard.press(key);
    };
    const focused = (): Promise<string> => page.evaluate("document.activeElement?.textContent ?? ''");
    await press("ArrowDown", "ArrowRight", "ArrowRight");
    assert.match(await focused(), /^Try 1/);
    await press("ArrowLeft", "ArrowLeft", "ArrowDown");
    assert.match(await focused(), /^runpart/);
    await press("ArrowRight");
    await row("render").waitFor();
    await press("ArrowRight", "ArrowDown", "ArrowDown", "Enter");
    await region("Result of the span").getByText('"a"').waitFor();
    assert.match(page.url(), new RegExp(`span=${childId}%2Fe\\d+`));
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("run-span-of-child");
    await page.reload();
    await region("Result of the span").getByText('"a"').waitFor();
    await row("render").focus();
    await press("Escape");
    await details().waitFor({ state: "detached" });
  });

  test("shows a run that it started, and leads to it", async () => {
    const { page } = console;
    await row("runpart").click();
    await region("Payload of the child run").getByText('"page": 3').waitFor();
    await region("Output of the child run").getByText('"drawn"').waitFor();
    await row("approval").click();
    await details().getByText("There is no outcome yet.").waitFor();
    await row("runpart").click();
    await details().getByRole("link", { name: "Open this run" }).click();
    await page.waitForURL((url) => url.pathname.endsWith(childId));
    await row("render").waitFor();
  });

  test("fits a narrow screen and a dark one", async () => {
    const { page } = console;
    await page.setViewportSize({ width: 390, height: 800 });
    await row("render").click();
    await region("Result of the span").getByText('"a"').waitFor();
    const fits =
      "(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector('main'))";
    assert.equal(await page.evaluate(fits), true);
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("run-span-narrow");
    assert.deepEqual([console.foreign, console.problems], [[], []]);
  });
});
