// What the page of a run says that it is doing, and why, in headless Chromium.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { WITHOUT_CHROMIUM } from "../../sdk/test/support/chromium.ts";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { openConsole, type ConsolePage } from "./support/open-console.ts";

const MANIFEST = {
  tasks: [{ id: "plain" }, { id: "limited", queue: "narrow" }],
  queues: [{ name: "narrow", concurrency_limit: 1 }],
};

describe("what a run is doing", { skip: WITHOUT_CHROMIUM, timeout: 180_000 }, () => {
  let scene: RunScene;
  let console: ConsolePage;
  before(async () => {
    scene = await startRunScene(MANIFEST, { config: { leaseDurationMs: 300_000 } });
    console = await openConsole(scene.server);
  });
  afterEach(() => scene.cancelAll());
  after(async () => {
    await console?.close();
    await scene?.stop();
  });
  const doing = () => console.page.getByRole("region", { name: "What the run is doing" });
  /** From now on the browser's clock stands so long before a time. */
  const standBefore = (at: string, ms: number) => console.page.clock.setFixedTime(Date.parse(at) - ms);

  /** A run whose code has asked a question, and only waits for the answer. */
  async function ask(question: string): Promise<{ runId: string; tokenId: string }> {
    const lease = await scene.leased();
    const token = { metadata: { question, to: "customers" }, tags: ["approval"] };
    const begun = [lease.operation("start"), lease.operation("tokens", { position: 1, ...token })];
    assert.deepEqual(await scene.worker.report(...begun), [200, 200]);
    const [created] = (await scene.call("GET", `/v1/tokens?run_id=${lease.runId}`)).body.tokens;
    const waits = [{ position: 2, name: "answer", kind: "token", token_id: created.id }];
    assert.deepEqual(await scene.worker.report(lease.operation("waits", { waits, parked: true })), [200]);
    return { runId: lease.runId, tokenId: created.id };
  }

  test("a run that its key holds back leads to the run that holds it", async () => {
    const { page } = console;
    const holder = await scene.start("plain", { concurrency_key: "customer-7" });
    const held = await scene.start("plain", { concurrency_key: "customer-7" });
    await console.goto(`runs/${held.id}`);
    await doing().getByText("Waiting for a slot of concurrency key customer-7 (limit 1)").waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("run-held");
    await doing().getByTitle(holder.id).click();
    await page.waitForURL((url) => url.pathname.endsWith(holder.id));
    await doing().getByText("Waiting for a free worker").waitFor();
    await doing().getByRole("link", { name: "Workers", exact: true }).click();
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.waitForURL((url) => url.pathname === "/system/workers");
  });

  test("a run that its queue holds back names the queue and who has its slots", async () => {
    const holder = await scene.start("limited");
    const held = await scene.start("limited");
    await console.goto(`runs/${held.id}`);
    await doing().getByText("Waiting for a slot of queue narrow (limit 1)").waitFor();
    await doing().getByTitle(holder.id).waitFor();
    await doing().getByRole("link", { name: "All queues" }).waitFor();
  });

  test("a retry counts down, after the stack of the attempt before, and says so to listeners seldom", async () => {
    const lease = await scene.leased({ retry: { max_attempts: 3, initial_delay: "10m", jitter: false } });
    const failure = {
      kind: "application_error",
      message: "the mail server is away",
      stack: "Error: the mail server is away\n    at send (src/mail.ts:4:2)",
      retryable: true,
    };
    await scene.worker.finish(lease, "failed", { failure });
    const { status_reason: reason } = await scene.get(lease.runId);
    const dueAt: string = reason.details.available_at;
    await standBefore(dueAt, 72_000);
    await console.goto(`runs/${lease.runId}`);
    await doing().getByText("Attempt 2 of 3 begins in 1:12", { exact: true }).waitFor();
    const said = doing().getByRole("status");
    assert.match((await said.textContent()) ?? "", /^Attempt 2 of 3 begins in less than 10 minutes, at /);
    await standBefore(dueAt, 50_000);
    await doing().getByText("Attempt 2 of 3 begins in 0:50", { exact: true }).waitFor();
    const heard = await said.textContent();
    assert.match(heard ?? "", /in less than 1 minute/);
    await standBefore(dueAt, 12_000);
    await doing().getByText("Attempt 2 of 3 begins in 0:12", { exact: true }).waitFor();
    assert.equal(await said.textContent(), heard);
    const attempts = doing().getByRole("list", { name: "Attempts" });
    await attempts.getByText("the mail server is away").waitFor();
    await doing().getByText("src/mail.ts:4:2").waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("run-retry");
    await standBefore(dueAt, 0);
    await doing().getByText("Attempt 2 of 3 is about to begin", { exact: true }).first().waitFor();
  });

  test("a delayed start and a sleep count down", async () => {
    const delayed = await scene.start("plain", { delay: "2h" });
    await standBefore(delayed.start_at, 3_723_000);
    await console.goto(`runs/${delayed.id}`);
    await doing().getByText("The run starts in 1:02:03", { exact: true }).waitFor();
    assert.match(await console.page.getByRole("main").innerText(), /Queued for\s+–/);
    await scene.cancel(delayed.id);
    const lease = await scene.leased();
    const waits = [{ position: 1, name: "nap", kind: "timer", timeout: "1h" }];
    const operations = [lease.operation("start"), lease.operation("waits", { waits, parked: true })];
    assert.deepEqual(await scene.worker.report(...operations), [200, 200]);
    const { pending_wait: wait } = await scene.get(lease.runId);
    await standBefore(wait.timeout_at, 9_500);
    await console.goto(`runs/${lease.runId}`);
    await doing().getByText("Sleeping in nap: the run continues in 0:10", { exact: true }).waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("run-sleep");
  });

  test("a run that waits for a token shows the question with its details, also on a narrow screen", async () => {
    const { page } = console;
    const { runId, tokenId } = await ask("Send 412 mails?");
    await page.setViewportSize({ width: 390, height: 800 });
    await console.goto(`runs/${runId}`);
    const question = doing().getByRole("article", { name: "Send 412 mails?" });
    await question.getByText('"to": "customers"').waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("run-token-narrow");
    assert.equal(
      await page.evaluate(
        "(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector('main'))",
      ),
      true,
    );
    await page.setViewportSize({ width: 1280, height: 800 });
    await console.screenshot("run-token");
    await question.getByText("Complete with custom JSON").click();
    await question.getByLabel("Data").fill('{"later": true}');
    await question.getByRole("button", { name: "Complete" }).click();
    await doing().getByRole("list", { name: "Answers" }).getByText('with {"later":true}').waitFor();
    assert.deepEqual((await scene.call("GET", `/v1/tokens/${tokenId}`)).body.data, { later: true });
  });

  test("an answer that was given elsewhere is shown as it comes", async () => {
    const { runId, tokenId } = await ask("Delete the index?");
    await console.goto(`runs/${runId}`);
    await doing().getByRole("button", { name: "Refuse" }).waitFor();
    const answer = await scene.call("POST", `/v1/tokens/${tokenId}/complete`, {
      body: { data: { approved: false } },
    });
    assert.equal(answer.status, 200);
    const answers = doing().getByRole("list", { name: "Answers" });
    await answers.getByText(/^Delete the index\? Refused by API key key_/).waitFor();
    await doing().getByRole("button", { name: "Refuse" }).waitFor({ state: "detached" });
  });

  test("asks nobody but its server, and breaks no rule of its own", () => {
    assert.deepEqual(console.foreign, []);
    assert.deepEqual(console.problems, []);
  });
});
