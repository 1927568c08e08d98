// The page of a run in headless Chromium.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { buffer } from "node:stream/consumers";
import { WITHOUT_CHROMIUM } from "../../sdk/test/support/chromium.ts";
import type { HeldLease } from "../../server/test/support/raw-worker.ts";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { openConsole, type ConsolePage } from "./support/open-console.ts";
import { logChunks, say } from "./support/run-writes.ts";

const options = { skip: WITHOUT_CHROMIUM, timeout: 180_000 };

describe("the page of a run", options, () => {
  let scene: RunScene;
  let console: ConsolePage;
  let lease: HeldLease;
  before(async () => {
    scene = await startRunScene(
      { tasks: [{ id: "report" }] },
      // Its worker renews nothing, and a browser may take its time.
      { config: { leaseDurationMs: 300_000 } },
    );
    console = await openConsole(scene.server);
  });
  after(async () => {
    await console?.close();
    await scene?.stop();
  });
  const region = (name: string) => console.page.getByRole("region", { name, exact: true });
  const openTab = (name: string) => console.page.getByRole("tab", { name }).click();

  test("says why it is not running, and draws what happens, as it happens", async () => {
    const { page } = console;
    const run = await scene.start("report", { payload: { n: 1 }, tags: ["shown"] });
    await console.goto(`runs/${run.id}`);
    await page.getByText("Waiting for a free worker").waitFor();
    await region("Timeline").getByText("Queued").waitFor();
    lease = await scene.worker.takeOne();
    await scene.worker.report(lease.operation("start"));
    await region("Timeline").getByText("Attempt 1").waitFor();
    const attributes = { step: "fetch", try: 1, duration_ms: 5 };
    await say(scene.worker, lease, { events: [{ kind: "step.completed", message: "Fetched.", attributes }] });
    await region("Timeline").getByRole("treeitem").filter({ hasText: "step" }).getByText("fetch").waitFor();
    // The list of tabs scrolls on a narrow screen, and cuts off what is outside of it.
    const ring = "getComputedStyle(document.querySelector('[role=tab]')).outlineOffset";
    assert.equal(await page.evaluate(ring), "-2px");
    await region("What the run is doing")
      .getByText(/^Running for .*Last completed step: fetch, /)
      .waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("run-timeline");
  });

  test("shows its events, by their kind and severity, with their attributes", async () => {
    const { page } = console;
    await openTab("Events");
    await region("Events").getByText("Fetched.").waitFor();
    await page.getByRole("combobox", { name: "Kind" }).selectOption("step");
    await page.getByText("1 of 5 events").waitFor();
    await region("Events")
      .getByRole("button", { name: /Fetched/ })
      .click();
    await region("Attributes").getByText('"step": "fetch"').waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("run-events");
    await page.reload();
    await page.getByText("1 of 5 events").waitFor();
    await page.getByRole("combobox", { name: "Severity" }).selectOption("error");
    await page.getByText("No events match these filters").waitFor();
  });

  test("shows its log as it is written, with colours, and finds what is looked for", async () => {
    const { page } = console;
    await openTab("Logs");
    await page.getByText("No output yet").waitFor();
    await say(scene.worker, lease, {
      logs: logChunks("plain\n\u001b[31mred\u001b[0m and not\n", ["stderr", "an Error here\n"]),
    });
    await region("Log").getByText("an Error here").waitFor();
    const colours = await page.evaluate(`(() => {
      const of = (text) => [...document.querySelectorAll("[data-log-row] span")].filter((span) => span.textContent === text && span.children.length === 0).map((span) => getComputedStyle(span).color)[0];
      return [of("red"), of("plain")];
    })()`);
    assert.notEqual((colours as string[])[0], (colours as string[])[1]);
    await page.getByRole("searchbox", { name: "Find in the log" }).fill("PLAIN");
    await page.getByText("1 line", { exact: true }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByText("1 of 1 line").waitFor();
    assert.equal(await region("Log").locator("mark").textContent(), "plain");
    await page.getByRole("button", { name: "Next error" }).click();
    await page.getByRole("combobox", { name: "Stream" }).selectOption("stderr");
    await region("Log").getByText("plain").waitFor({ state: "detached" });
    await page.getByRole("checkbox", { name: "Times" }).check();
    await region("Log")
      .getByText(/^\d\d:\d\d:\d\d\.\d{3}$/)
      .first()
      .waitFor();
    assert.deepEqual(await console.violations(), []);
    assert.match(page.url(), /tab=logs.*find=PLAIN.*stream=stderr/);
    await console.screenshot("run-logs");
  });

  test("follows the end of its log until one scrolls up, and takes it up again", async () => {
    const { page } = console;
    await page.getByRole("combobox", { name: "Stream" }).selectOption("");
    await page.getByRole("button", { name: "Resume following" }).click();
    const lines = (from: number): string =>
      Array.from({ length: 200 }, (_, index) => `row ${from + index}\n`).join("");
    await say(scene.worker, lease, { logs: logChunks(lines(0)) });
    await region("Log").getByText("row 199", { exact: true }).waitFor();
    await region("Log").hover();
    await page.mouse.wheel(0, -600);
    await page.getByRole("button", { name: "Resume following" }).waitFor();
    await say(scene.worker, lease, { logs: logChunks(lines(200)) });
    await page.getByText("403 lines").waitFor();
    assert.equal(await region("Log").getByText("row 399", { exact: true }).count(), 0);
    await page.getByRole("button", { name: "Resume following" }).click();
    await region("Log").getByText("row 399", { exact: true }).waitFor();
    await page.getByRole("checkbox", { name: "Wrap" }).check();
    await region("Log").getByText("row 399", { exact: true }).waitFor();
  });

  test("gives the log as it was written", async () => {
    const { page } = console;
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download" }).click(),
    ]);
    const text = (await buffer(await download.createReadStream())).toString();
    assert.equal(download.suggestedFilename(), `${lease.runId}.log`);
    assert.ok(text.startsWith("plain\n\u001b[31mred\u001b[0m and not\nan Error here\nrow 0\n"));
    assert.ok(text.endsWith("row 399\n"));
  });

  test("shows how it failed first, with the frames of its own code before folded ones", async () => {
    const stack =
      "Error: no\n    at work (src/work.ts:3:9)\n    at run (node:internal/x:1:1)\n    at z (/app/node_modules/z/z.js:1:1)";
    const failure = { kind: "application_error", message: "no such thing", stack, retryable: false };
    await scene.worker.report(lease.operation("release", { outcome: "failed", failure }));
    const doing = region("What the run is doing");
    await doing.getByText("Application error: no such thing").waitFor();
    assert.equal(await region("Stack").locator("strong").textContent(), "src/work.ts:3:9");
    await region("Stack").getByText("at z (").waitFor({ state: "hidden" });
    await region("Stack").getByText("2 more of Node.js and packages").click();
    await region("Stack").getByText("at z (").waitFor();
    await doing.getByRole("button", { name: "Copy the stack" }).waitFor();
    await doing.getByRole("list", { name: "Attempts" }).getByText("no such thing").waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("run-failed");
    await openTab("Data");
    await region("Payload").getByText('"n": 1').waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("run-data");
  });

  test("starts again with another payload, its version and other options", async () => {
    const { page } = console;
    const { deployment_version: version } = await scene.get(lease.runId);
    await scene.deploy({ tasks: [{ id: "report" }] });
    await page.getByRole("button", { name: "Start again" }).click();
    const payload = page.getByRole("textbox", { name: "Payload" });
    await payload.fill("{ nonsense");
    assert.equal(await page.getByRole("button", { name: "Start", exact: true }).isDisabled(), true);
    assert.deepEqual(await console.violations(), []);
    await payload.fill('{ "n": 2 }');
    await page.getByText("Version and options").click();
    await page.getByLabel("deployment_version").selectOption(version);
    await page.getByLabel("priority").fill("7");
    await page.getByRole("dialog").getByText("As a command").click();
    const { port } = new URL(scene.server.url);
    await page
      .getByText(
        `await client.tasks.start("report", { n: 2 }, { tags: ["shown"], queue: "default", deploymentVersion: "${version}", priority: 7 });`,
      )
      .waitFor();
    await page.getByText(`http://127.0.0.1:${port}/v1/tasks/report/start`).waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("run-start-again");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.waitForURL((url) => /\/runs\/run_/.test(url.pathname) && !url.pathname.endsWith(lease.runId));
    await page.getByText("queued").first().waitFor();
    const id = page.url().split("/").at(-1) as string;
    const run = await scene.get(id);
    assert.deepEqual(
      [run.payload, run.tags, run.priority, run.deployment_version],
      [{ n: 2 }, ["shown"], 7, version],
    );
    await openTab("Data");
    await page.getByRole("button", { name: "As a command" }).click();
    await page.getByText(`keelson run get ${id}`).waitFor();
    await page.keyboard.press("Escape");
  });

  test("is cancelled after it was asked whether to", async () => {
    const { page } = console;
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await page.getByRole("button", { name: "Cancel the run" }).click();
    await page.getByRole("main").getByText("cancelled", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Cancel", exact: true }).waitFor({ state: "detached" });
  });

  test("says that there is no such run", async () => {
    await console.goto("runs/run_00000000000000000000000000");
    await console.page.getByRole("heading", { name: "Not found" }).waitFor();
    assert.deepEqual(await console.violations(), []);
  });

  test("fits a narrow screen", async () => {
    const { page } = console;
    await page.setViewportSize({ width: 390, height: 800 });
    await console.goto(`runs/${lease.runId}?tab=logs`);
    await region("Log")
      .getByText("row 399", { exact: true })
      .or(region("Log").getByText("plain"))
      .first()
      .waitFor();
    assert.equal(
      await page.evaluate(
        "(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector('main'))",
      ),
      true,
    );
    assert.deepEqual(await console.violations(), []);
  });

  test("asks nobody but its server, and breaks no rule of its own", () => {
    assert.deepEqual(console.foreign, []);
    assert.deepEqual(console.problems, []);
  });
});
