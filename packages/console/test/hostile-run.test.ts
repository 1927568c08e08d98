// A run whose every text tries to be more than text: what the console shows of it does nothing.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { WITHOUT_CHROMIUM } from "../../sdk/test/support/chromium.ts";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { openConsole, type ConsolePage } from "./support/open-console.ts";
import { logChunks, say } from "./support/run-writes.ts";

const options = { skip: WITHOUT_CHROMIUM, timeout: 180_000 };

const MARKUP = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;
const LINK = "https://evil.example/x javascript:alert(1) [link](https://evil.example)";
const BIDI = "\u202egpj.exe\u202c \u2066isolated";
const ESCAPES = [
  "\u001b]8;;https://evil.example\u0007click here\u001b]8;;\u0007",
  "\u001b]52;c;ZXZpbA==\u0007",
  "\u001b]0;owned\u001b\\",
  "\u001bc\u001b[2J\u001b[H\u001b[?1049h\u001b[6n\u001bP+q544e\u001b\\",
  "\u001b[31",
  "\u001b]unfinished",
].join("after");
const CONTROLS = "nul\u0000 bell\u0007 back\u0008\u0008 tab\tend\u009b31m";
const TOWER = `z${"\u0301".repeat(10_000)}`;
const LONG = "W".repeat(200_000);
const ALL = [MARKUP, LINK, BIDI, ESCAPES, CONTROLS, TOWER, LONG];

describe("a hostile run", options, () => {
  let scene: RunScene;
  let console: ConsolePage;
  let runId: string;
  const dialogs: string[] = [];
  before(async () => {
    scene = await startRunScene({ tasks: [{ id: "report" }] }, { config: { leaseDurationMs: 300_000 } });
    const tags = [MARKUP.slice(0, 128), LINK, BIDI, "z".repeat(128)];
    runId = (await scene.start("report", { payload: ALL.map((text) => text.replaceAll("\u0000", "")), tags }))
      .id;
    const lease = await scene.worker.takeOne();
    await scene.worker.report(lease.operation("start"));
    const events = [MARKUP, LINK, BIDI, ESCAPES].map((message) => ({
      kind: "step.completed",
      message,
      attributes: { step: message, duration_ms: 1, [message]: message },
    }));
    await say(scene.worker, lease, {
      events,
      logs: logChunks(
        `${ALL.join("\n")}\n`,
        ["stderr", `${ALL.join("\r\n")}\n`],
        ["stdout", Uint8Array.of(0xff, 0xfe, 0xc3)],
      ),
    });
    const failure = {
      kind: "application_error",
      message: `${MARKUP} ${BIDI} ${ESCAPES}`,
      stack: `Error: ${MARKUP}\n    at ${BIDI} (${LINK})`,
      retryable: false,
    };
    await scene.worker.report(lease.operation("release", { outcome: "failed", failure }));
    console = await openConsole(scene.server);
    console.page.on("dialog", (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    await console.context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await console.goto("runs");
    await console.page.getByRole("button", { name: "Ctrl K" }).focus();
    await console.page.evaluate('navigator.clipboard.writeText("mine")');
  });
  after(async () => {
    await console?.close();
    await scene?.stop();
  });

  /** Elements that only markup could have made, links that lead elsewhere, and how far the page is wider than its window. */
  const made = (): Promise<unknown> =>
    console.page.evaluate(`({
      elements: document.querySelectorAll("main img, main script, main iframe, main object, main style, main form[action]").length,
      links: [...document.querySelectorAll("main a")].map((a) => a.href).filter((href) => !href.startsWith(location.origin)),
      wider: document.documentElement.scrollWidth - innerWidth,
      path: location.pathname.replace(/.*(?=runs)/, ""),
    })`);
  const title = (): Promise<string> => console.page.title();
  const nothing = (path: string) => ({ elements: 0, links: [], wider: 0, path });

  test("is a row as any other", async () => {
    const { page } = console;
    const row = page.getByRole("grid").getByRole("row").filter({ hasText: "report" });
    await row.getByText("<img src=x").waitFor();
    assert.deepEqual(await made(), nothing("runs"));
    const box = await row.boundingBox();
    assert.ok(box !== null && box.height < 50, "the row is as high as any other");
  });

  for (const [tab, seen] of [
    ["timeline", "<img src=x"],
    ["events", "<img src=x"],
    ["logs", "<img src=x"],
    ["data", "<img src=x"],
  ] as const)
    test(`shows its ${tab} as text`, async () => {
      await console.goto(`runs/${runId}?tab=${tab}`);
      await console.page.getByRole("tabpanel").getByText(seen).first().waitFor();
      if (tab === "events") {
        await console.page
          .getByRole("region", { name: "Events" })
          .getByRole("button", { name: /<img/ })
          .first()
          .click();
        await console.page.getByRole("region", { name: "Attributes" }).waitFor();
      }
      assert.deepEqual(await made(), nothing(`runs/${runId}`));
      assert.equal(await title(), "report · Keelson");
      assert.deepEqual(await console.violations(), []);
    });

  test("its log has rows of one height, colours at most, and nothing unseen", async () => {
    const { page } = console;
    await console.goto(`runs/${runId}?tab=logs`);
    const log = page.getByRole("region", { name: "Log", exact: true });
    await log.getByText("click here").first().waitFor();
    const rows = (await page.evaluate(
      `[...document.querySelectorAll("[data-log-row]")].map((row) => [row.getBoundingClientRect().height, row.textContent])`,
    )) as [number, string][];
    assert.deepEqual([...new Set(rows.map(([height]) => height))], [18]);
    const text = rows.map(([, line]) => line).join("\n");
    // oxlint-disable-next-line no-control-regex -- they are what is looked for
    assert.doesNotMatch(text, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
    assert.match(text, /nul\\u\{0\} bell\\u\{7\}/);
    assert.match(text, /\\u\{202e\}gpj\.exe/);
    assert.doesNotMatch(text, /\u0301{9}/);
    await page.getByRole("checkbox", { name: "Wrap" }).check();
    await log.getByText("<img").first().waitFor();
    assert.deepEqual(await made(), nothing(`runs/${runId}`));
  });

  test("nothing was asked for, said, opened, copied or gone to", async () => {
    const { page, context } = console;
    await page.getByRole("button", { name: "As a command" }).focus();
    assert.equal(await page.evaluate("navigator.clipboard.readText()"), "mine");
    assert.equal(context.pages().length, 1);
    assert.deepEqual(dialogs, []);
    assert.deepEqual(console.foreign, []);
    assert.deepEqual(console.problems, []);
  });
});
