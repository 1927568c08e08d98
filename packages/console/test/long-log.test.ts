// A log of a million lines in headless Chromium.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { WITHOUT_CHROMIUM } from "../../sdk/test/support/chromium.ts";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { usedHeapBytes } from "./support/heap.ts";
import { openConsole, type ConsolePage } from "./support/open-console.ts";
import { until } from "./support/until.ts";
import { fillLog } from "./support/run-writes.ts";

const options = { skip: WITHOUT_CHROMIUM, timeout: 180_000 };
const LINES = 1_000_000;

/** Numbers of the lines that are drawn within the view. */
const SHOWN = `(() => {
  const log = document.querySelector("[aria-label=Log]"), view = log.getBoundingClientRect();
  return [...log.querySelectorAll("[data-log-row]")]
    .filter((row) => { const { top, bottom } = row.getBoundingClientRect(); return bottom > view.top + 1 && top < view.bottom - 1; })
    .map((row) => Number(/line (\\d+) of/.exec(row.textContent)?.[1]));
})()`;

describe("a log of a million lines", options, () => {
  let scene: RunScene;
  let console: ConsolePage;
  let runId: string;
  let bytes: number;
  let emptyHeap: number;
  before(async () => {
    scene = await startRunScene({ tasks: [{ id: "report" }] });
    runId = (await scene.start("report")).id;
    await scene.worker.finish(await scene.worker.takeOne());
    bytes = await fillLog(scene.server, runId, LINES);
    console = await openConsole(scene.server);
    await console.goto(`runs/${runId}?tab=data`);
    await console.page.getByText("Details").waitFor();
    emptyHeap = await usedHeapBytes(console.page);
  });
  after(async () => {
    await console?.close();
    await scene?.stop();
  });
  const shown = async (): Promise<number[]> => (await console.page.evaluate(SHOWN)) as number[];
  /** Resolves when a line is in the view, with those around it. */
  const see = async (line: number): Promise<void> => {
    await until(console.page, `${SHOWN}.includes(${line})`);
    const lines = await shown();
    assert.ok(lines.length > 5, lines.join());
    assert.deepEqual(
      lines,
      lines.map((_, index) => (lines[0] ?? 0) + index),
      "no line is missing or doubled",
    );
  };

  test("is there as a whole, with little of it in the page", async (t) => {
    const { page } = console;
    await page.getByRole("tab", { name: "Logs" }).click();
    await page.getByText(`${LINES.toLocaleString("en-US")} lines`).waitFor();
    await see(0);
    const elements = (await page.evaluate('document.getElementsByTagName("*").length')) as number;
    const heap = (await usedHeapBytes(page)) - emptyHeap;
    t.diagnostic(`${elements} elements; ${bytes} bytes of log in ${heap} bytes of memory`);
    assert.ok(elements < 2000, `${elements} elements`);
    // A line has some twenty bytes beside its text; strings of their own would be many times that.
    assert.ok(heap < 2 * bytes + LINES * 40, `${heap} bytes`);
  });

  test("is scrolled to its end, to any part of it, and line by line", async () => {
    const { page } = console;
    const log = page.getByRole("region", { name: "Log" });
    await log.focus();
    await page.keyboard.press("End");
    await see(LINES - 1);
    await page.evaluate(
      `(() => { const log = document.querySelector("[aria-label=Log]"); log.scrollTop = log.scrollHeight / 2; })()`,
    );
    await until(page, `Math.abs(${SHOWN}[0] - ${LINES / 2}) < ${LINES / 100}`);
    const [before = 0] = await shown();
    await see(before);
    await log.hover();
    await page.mouse.wheel(0, 180);
    await see(before + 10);
    assert.ok(((await shown())[0] ?? 0) <= before + 12, "a small move is a small move");
    await page.keyboard.press("Home");
    await see(0);
  });

  test("is searched as a whole", async () => {
    const { page } = console;
    await page.getByRole("searchbox", { name: "Find in the log" }).fill("line 77777");
    await page.getByText("11 lines", { exact: true }).waitFor();
    await page.keyboard.press("Enter");
    await see(77_777);
    await page.keyboard.press("Enter");
    await see(777_770);
    await page.getByText("2 of 11 lines").waitFor();
    await page.keyboard.press("Shift+Enter");
    await page.keyboard.press("Shift+Enter");
    await see(777_779);
  });

  test("is wrapped, and searched then too", async () => {
    const { page } = console;
    await page.getByRole("checkbox", { name: "Wrap" }).check();
    await page.keyboard.press("Tab");
    await page.getByRole("searchbox", { name: "Find in the log" }).fill("line 500000 ");
    await page.getByText("1 line", { exact: true }).waitFor();
    await page.keyboard.press("Enter");
    await see(500_000);
    assert.deepEqual(console.problems, []);
  });
});
