// What a session's page does with its streams.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { decodeId, EXAMPLE_IDS } from "@keelson/contract";
import { WITHOUT_CHROMIUM } from "../../sdk/test/support/chromium.ts";
import { sql } from "../../server/src/db/sql.ts";
import { newMessageId } from "../../sdk/src/client/random.ts";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { cancelSessions, emit, send, startSession } from "../../server/test/support/session-scene.ts";
import { until } from "../../server/test/support/until.ts";
import { openConsole, type ConsolePage } from "./support/open-console.ts";

const options = { skip: WITHOUT_CHROMIUM, timeout: 180_000 };

/** All that a page does with markup, links, escapes and marks of direction is to show them. */
const HOSTILE: readonly [data: unknown, shown: string][] = [
  ['<img src=x onerror="globalThis.pwned=1"><script>pwned=1</script>', "<script>pwned=1</script>"],
  ["[x](javascript:pwned=1) https://evil.example/", "https://evil.example/"],
  ["\u001b]8;;https://evil.example\u0007x\u001b]8;;\u0007", "\\u{1b}]8;;https://evil.example\\u{7}"],
  ["safe \u202egnp.exe", "safe \\u{202e}gnp.exe"],
  [{ "<b>": "\u202e" }, '{"<b>":"\\u{202e}"}'],
];

describe("conversations in the console", options, () => {
  let scene: RunScene;
  let console: ConsolePage;
  before(async () => {
    scene = await startRunScene({ tasks: [], actors: [{ id: "chat" }] });
    console = await openConsole(scene.server);
  });
  after(async () => {
    await console?.close();
    await scene?.stop();
  });
  const conversation = () => console.page.getByRole("region", { name: "Conversation", exact: true });

  test("show hostile data as text, and nothing happens", async () => {
    const { page, goto } = console;
    const session = await startSession(scene, { external_id: "hostile \u202eevil", tags: ["\u202etag"] });
    for (const [data] of HOSTILE) assert.equal((await emit(scene, session, data)).status, 201);
    // What no JSON text of RFC 7493 holds does not come as far as a page.
    assert.equal((await emit(scene, session, "half \ud800 a character")).status, 400);
    await emit(scene, session, "x".repeat(200_000));
    await goto(`sessions/${session.id}`);
    for (const [, shown] of HOSTILE) await conversation().getByText(shown).first().waitFor();
    await page.getByRole("heading", { name: "hostile \\u{202e}evil" }).waitFor();
    const whole = page.getByRole("button", { name: "Show all 200,000 characters" });
    await whole.click();
    await page.getByRole("button", { name: "Show less (the first 100,000 of 200,000 characters)" }).waitFor();
    assert.equal(await page.evaluate("globalThis.pwned"), undefined);
    assert.equal(await conversation().locator("a, img, script, b").count(), 0);
    assert.deepEqual(await console.violations(), []);
    assert.deepEqual([console.foreign, console.problems], [[], []]);
  });

  test("are filtered by what belongs together", async () => {
    const { page, goto } = console;
    const session = await startSession(scene);
    await send(scene, session, "A question", { correlation_id: "q-1" });
    await send(scene, session, "Another", { correlation_id: "q-2" });
    await emit(scene, session, "An ans", { correlation_id: "q-1" });
    await emit(scene, session, "wer", { correlation_id: "q-1" });
    await goto(`sessions/${session.id}`);
    await conversation().getByText("An answer").waitFor();
    await conversation().getByRole("button", { name: "q-1" }).first().click();
    await conversation().getByText("Another").waitFor({ state: "detached" });
    await page.waitForURL(/\?correlation=q-1$/);
    await conversation().getByText("A question").waitFor();
    await page.getByRole("button", { name: "Show all" }).click();
    await conversation().getByText("Another").waitFor();
    await page.getByLabel("Stream", { exact: true }).selectOption("output");
    await conversation().getByText("A question").waitFor({ state: "detached" });
  });

  test("show streams that are made meanwhile, more than a browser could follow", async () => {
    const session = await startSession(scene);
    await console.goto(`sessions/${session.id}`);
    await console.page.getByText("No messages yet").waitFor();
    for (let n = 1; n <= 7; n += 1) await emit(scene, session, `Of stream ${n}`, {}, `s${n}`);
    for (let n = 1; n <= 7; n += 1) await conversation().getByText(`Of stream ${n}`).waitFor();
    await emit(scene, session, "More of the last", {}, "s7");
    await conversation().getByText("More of the last").waitFor();
  });

  test("keep what was refused, and send what is typed once", async () => {
    const { page, context } = console;
    const session = await startSession(scene);
    await console.goto(`sessions/${session.id}`);
    const message = page.getByRole("textbox", { name: "Message" });
    await message.fill("first line");
    await message.press("Shift+Enter");
    await message.pressSequentially("second line");
    // The answer is lost: the request arrives all the same, and is sent again.
    let sent = 0;
    await page.route(/\/inputs\/input$/, async (route) => {
      sent += 1;
      if (sent > 1) return route.continue();
      await route.fetch();
      await route.abort("connectionreset");
    });
    await message.press("Enter");
    await conversation().getByText("first line\nsecond line").waitFor();
    await page.locator("textarea:placeholder-shown").waitFor();
    await page.unroute(/\/inputs\/input$/);
    const { body } = await scene.call("GET", `/api/sessions/${session.id}/inputs/input`);
    assert.deepEqual(
      body.records.map(({ data }: { data: unknown }) => data),
      ["first line\nsecond line"],
    );

    await page.getByLabel("Sent as").selectOption("json");
    await message.fill('{"open": ');
    await message.press("Enter");
    await page.getByText(/This is not JSON/).waitFor();
    await message.fill('{"open": true}');
    await page.getByLabel("Correlation id").fill("c-1");
    await message.press("Enter");
    await conversation().getByText('{"open":true}').waitFor();

    await context.setOffline(true);
    await message.fill('"kept"');
    await message.press("Enter");
    await page.getByRole("form", { name: "Send input" }).getByRole("alert").waitFor();
    assert.equal(await message.inputValue(), '"kept"');
    await context.setOffline(false);
    await message.press("Enter");
    await conversation().getByText("kept").waitFor();
    assert.equal(await page.getByRole("article", { name: /^Input/ }).count(), 3);
  });

  test("show an answer that comes in pieces as one message, also after a reload in the middle", async () => {
    await cancelSessions(scene);
    const session = await startSession(scene);
    const lease = await scene.worker.takeOne();
    await scene.worker.report(lease.operation("start"));
    const words = "An answer, word by word, with two  spaces and a line\nbreak.".split(/(?<= )/);
    let hasBegun = false;
    const say = async (...pieces: unknown[]): Promise<void> => {
      const records = pieces.map((data) => ({ data }));
      const message = { id: EXAMPLE_IDS.msg, ...(hasBegun ? {} : { begins: true }) };
      hasBegun = true;
      const operation = { position: null, stream: "output", message, records };
      assert.deepEqual(await scene.worker.report(lease.operation("outputs", operation)), [200]);
    };
    const bubble = conversation().getByRole("article", { name: "Output output 1" });
    const body = bubble.locator("div[dir=auto]");
    const reads = async (text: string): Promise<void> => {
      const isSaid = async () => (await body.count()) === 1 && (await body.textContent()) === text;
      await until(`the page says "${text}"`, 60_000, isSaid);
      assert.equal(await conversation().getByRole("article").count(), 1);
    };
    await console.goto(`sessions/${session.id}`);
    for (const [index, word] of words.slice(0, 5).entries()) {
      await say(word);
      await reads(words.slice(0, index + 1).join(""));
    }
    await say({ type: "tool", input: { query: ["weather"] } });
    await console.page.reload();
    await reads(words.slice(0, 5).join(""));
    await say(...words.slice(5));
    await reads(words.join(""));
    await bubble.getByText("1 other piece").click();
    await bubble.getByText('"weather"').waitFor();
    assert.deepEqual(await console.violations(), []);
    assert.equal(await bubble.getByText("failed", { exact: true }).count(), 0);
    await scene.worker.report(lease.operation("release", { outcome: "succeeded" }));
    // Nothing has ended it before its run did.
    await bubble.getByText("failed", { exact: true }).waitFor();
    await reads(words.join(""));
    await console.page.reload();
    await bubble.getByText("failed", { exact: true }).waitFor();
    await reads(words.join(""));
  });

  test("show a chat of the AI SDK in its parts, and what its models used", async () => {
    const { page, goto } = console;
    await cancelSessions(scene);
    const session = await startSession(scene);
    const question = { id: "q", role: "user", parts: [{ type: "text", text: "Restart it, please." }] };
    await send(scene, session, { message: question });
    const lease = await scene.worker.takeOne();
    const said = (message: string, ...data: unknown[]) =>
      lease.operation("outputs", {
        ...{ position: null, stream: "output", records: data.map((one) => ({ data: one })) },
        message_id: EXAMPLE_IDS.msg.replace(/.$/, message),
      });
    const call = { toolCallId: "c", toolName: "restart <b>it</b>", input: { service: "web" } };
    const operations = [
      lease.operation("start"),
      said("j", question),
      said("k", { type: "text-start", id: "0" }, { type: "text-delta", id: "0", delta: "I have to " }),
      said("k", { type: "text-delta", id: "0", delta: "ask first." }, { type: "text-end", id: "0" }),
      said("k", { type: "tool-input-available", ...call }),
      said("k", { type: "tool-approval-request", toolCallId: "c", approvalId: EXAMPLE_IDS.tok }),
      lease.operation("usage", { used: [{ model: "large", input_tokens: 1200, cost_usd: 0.25 }] }),
    ];
    assert.deepEqual(
      await scene.worker.report(...operations),
      operations.map(() => 200),
    );
    await goto(`sessions/${session.id}`);
    await conversation().getByRole("article", { name: "Input input 1" }).getByText("Restart it").waitFor();
    const answer = conversation().getByRole("article", { name: "Output output 2" });
    await answer.getByText("I have to ask first.").waitFor();
    await answer.getByText("restart <b>it</b>").waitFor();
    const asked = answer.getByRole("link", { name: "waits for approval" });
    assert.match((await asked.getAttribute("href")) ?? "", new RegExp(`/tokens/${EXAMPLE_IDS.tok}$`));
    await answer.getByText("Input", { exact: true }).click();
    await answer.getByText('"service": "web"').waitFor();
    await page.getByText("1 call, 1,200 tokens, $0.25").waitFor();
    assert.equal(await page.getByLabel("Sent as").inputValue(), "text");
    assert.deepEqual(await console.violations(), []);
    await goto(`runs/${lease.runId}`);
    await page.getByText("1 call, 1,200 tokens, $0.25").waitFor();
  });

  test("say why the last turn failed, and lead to its run", async () => {
    const { page, goto } = console;
    await cancelSessions(scene);
    const session = await startSession(scene);
    const lease = await scene.worker.takeOne();
    const failure = { kind: "application_error", message: "The model <b>is</b> down.", retryable: false };
    await scene.worker.finish(lease, "failed", { failure });
    await goto(`sessions/${session.id}`);
    await page.getByRole("heading", { name: "Last failure" }).waitFor();
    await page.getByText("The model <b>is</b> down.").first().waitFor();
    await page.getByRole("link", { name: "Show the failed run" }).click();
    await page.waitForURL(new RegExp(`/runs/${lease.runId}`));
  });

  test("mark queued input, which can be withdrawn", async () => {
    const { page, goto } = console;
    const session = await startSession(scene);
    await send(scene, session, "Not this");
    await send(scene, session, "But this");
    await goto(`sessions/${session.id}`);
    const row = conversation().getByRole("article", { name: "Input input 1" });
    await row.getByText("queued").waitFor();
    await row.getByRole("button", { name: "Withdraw" }).click();
    await row.getByText("withdrawn").waitFor();
    await conversation().getByText("Not this").waitFor({ state: "detached" });
    await conversation().getByText("But this").waitFor();
    await page.reload();
    await row.getByText("withdrawn").waitFor();
    const { body } = await scene.call("GET", `/api/sessions/${session.id}/inputs/input?received=false`);
    assert.deepEqual(
      body.records.map(({ data }: { data: unknown }) => data),
      ["But this"],
    );
  });

  test("say what is being written, and stop it", async () => {
    const { page, goto } = console;
    await cancelSessions(scene);
    const session = await startSession(scene);
    const lease = await scene.worker.takeOne();
    const id = newMessageId();
    const written = (fields: object, ...pieces: string[]): object =>
      lease.operation("outputs", {
        ...{ position: null, stream: "output", message: { id, ...fields } },
        records: pieces.map((data) => ({ data })),
      });
    await scene.worker.report(lease.operation("start"), written({ begins: true }, "It is a long "));
    await goto(`sessions/${session.id}`);
    const list = page.getByRole("list", { name: "Being written" });
    await list.getByText("Being written: output").waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("being-written");
    await list.getByRole("button", { name: "Stop" }).click();
    await list.getByText("Being stopped: output").waitFor();
    assert.equal(await list.getByRole("button", { name: "Stop" }).isDisabled(), true);
    const { interrupts } = await scene.worker.renew(lease);
    assert.deepEqual(
      interrupts.map(({ message_id }: { message_id: string }) => message_id),
      [id],
    );
    await scene.worker.report(written({ ends: "interrupted" }, "story."));
    await list.waitFor({ state: "detached" });
    await conversation().getByText("It is a long story.").waitFor();
    await conversation().getByText("interrupted").waitFor();
  });

  test("say what is no longer kept", async () => {
    const { page } = console;
    const session = await startSession(scene);
    for (const n of [1, 2, 3]) await emit(scene, session, `Record ${n}`);
    await scene.server.db.query(sql`
      DELETE FROM stream_records r USING streams t
      WHERE r.environment_id = t.environment_id AND r.stream_id = t.id AND r.sequence <= 2
        AND t.session_id = ${decodeId("sess", session.id)} AND t.name = 'output'`);
    await scene.server.db.query(sql`
      UPDATE streams SET kept_after = 2 WHERE session_id = ${decodeId("sess", session.id)} AND name = 'output'`);
    await console.goto(`sessions/${session.id}`);
    await conversation().getByText("Record 3").waitFor();
    await page.getByText("The first 2 records of output are no longer kept.").waitFor();
  });
});
