// Both actors as a page talks to them, without a browser.

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { followOthers, type KeelsonChatTransport } from "@keelson/sdk/ai/client";
import { isToolUIPart } from "ai";
import { until } from "../../../packages/server/test/support/until.ts";
import type { ChatPage } from "../../../packages/sdk/test/support/chat-page.ts";
import { lastOf, openChatPage, read, readMessage, untilAsked } from "./support/open-chat-page.ts";
import { shareExample, type Example } from "./support/shared-example.ts";

let example: Example;
let visitors = 0;

const open = (actor: "assistant" | "coder") => openChatPage(example, actor, `visitor-${(visitors += 1)}`);

/** Approves or denies what the page asks for. */
async function decide(page: ChatPage, approved: boolean): Promise<void> {
  const { approval } = await untilAsked(page);
  assert.ok(approval);
  assert.equal(await page.to.approve(approval, { approved }), true);
}

const load = async (transport: KeelsonChatTransport): Promise<string[]> =>
  (await transport.load()).map(readMessage);

describe("the example on a real server", { timeout: 240_000 }, () => {
  before(async () => {
    example = await shareExample();
  });

  test("the assistant answers, thinks, calls tools, and reads what is attached", async () => {
    const { page, transport } = await open("assistant");
    await page.sendMessage({ text: "Hello" });
    assert.match(lastOf(page), /^You said “Hello”\. I am a short script/);
    await page.sendMessage({ text: "Why is db slow?" });
    assert.deepEqual(
      page.messages.at(-1)?.parts.map(({ type }) => type),
      ["step-start", "reasoning", "text"],
    );
    await page.sendMessage({ text: "Check web and db" });
    assert.equal(
      lastOf(page),
      "I look at web. [check output-available] I look at db. [check output-available] web runs at a load of 0.21. db runs at a load of 0.83.",
    );
    const url = `data:text/plain;base64,${btoa("To do: nothing\nat all")}`;
    const files = [{ type: "file" as const, mediaType: "text/plain", filename: "list.txt", url }];
    await page.sendMessage({ text: "What is this?", files });
    assert.equal(
      lastOf(page),
      "list.txt has the type text/plain and 21 bytes, and begins with “To do: nothing”.",
    );
    assert.deepEqual(await load(transport), read(page));
  });

  test("the assistant restarts what was approved, and nothing else", async () => {
    const { page } = await open("assistant");
    const sent = page.sendMessage({ text: "Restart web" });
    await decide(page, true);
    await sent;
    const asked = "I have to ask before I do that. [restart output";
    assert.equal(lastOf(page), `${asked}-available] Done: web has been restarted.`);
    const again = page.sendMessage({ text: "Restart mail" });
    await decide(page, false);
    await again;
    assert.equal(lastOf(page), `${asked}-denied] All right, I have left everything as it is.`);
  });

  test("an answer is stopped, and a message is edited", async () => {
    const { page, transport } = await open("assistant");
    void page.sendMessage({ text: "count to 2000" });
    await until("it counts", 60_000, async () => lastOf(page).startsWith("1 2 3"));
    await page.stop();
    await until("it has stopped", 60_000, async () => {
      const messages = await transport.load();
      return (messages.at(-1)?.metadata as { status?: string } | undefined)?.status === "interrupted";
    });
    const id = page.messages[0]?.id;
    assert.ok(id);
    await page.sendMessage({ text: "count to 3", messageId: id });
    await page.sendMessage({ text: "What did I say first?" });
    const all = [
      "count to 3",
      "1 2 3",
      "What did I say first?",
      "The first thing you said was “count to 3”.",
    ];
    assert.deepEqual(read(page), all);
    assert.deepEqual(await load(transport), all);
  });

  test("the coding agent says its plan, is steered while it asks, and fixes the project", async (t) => {
    const { page, transport, sessionId } = await open("coder");
    const left = new AbortController();
    t.after(() => left.abort());
    const following = followOthers(page, transport, left.signal);
    const sent = page.sendMessage({ text: "Fix the tests" });
    const { input } = await untilAsked(page);
    assert.match(lastOf(page), /^My plan: .* \[list_files .* \[run_tests .* \[read_file .*\[write_file/);
    assert.match((input as { content: string }).content, /total \+ number/);
    await transport.steer("What have you done so far?");
    await decide(page, true);
    await sent;
    const isReady = (count: number) => async () => page.status === "ready" && page.messages.length === count;
    await until("it has reported", 60_000, isReady(4));
    assert.equal(
      lastOf(page),
      "So far I have used 4 tools, and written 1 times. The last tests had 2 failures.",
    );

    // Another run goes on in the same folder.
    const { currentRunId } = await example.client.sessions.get(sessionId);
    await example.client.runs.cancel(currentRunId);
    await example.client.runs.wait(currentRunId, { timeout: "1m" });
    const rest = page.sendMessage({ text: "Go on" });
    await decide(page, true);
    await rest;
    assert.match(lastOf(page), /\[run_tests output-available\] All tests pass\.$/);
    const { workspaceId } = await example.client.sessions.get(sessionId);
    assert.ok(workspaceId);
    const exec = await example.client.workspaces.exec(workspaceId, ["sh", "test.sh"]);
    const { exitCode, stdout } = await exec.result();
    assert.equal(exitCode, 0, stdout);
    assert.notEqual((await example.client.sessions.get(sessionId)).currentRunId, currentRunId);
    left.abort();
    await following;
  });

  test("the coding agent leaves a file as it is when that is denied, or when it is stopped", async () => {
    const { page, transport } = await open("coder");
    const sent = page.sendMessage({ text: "Fix the tests" });
    await decide(page, false);
    await sent;
    assert.match(lastOf(page), /\[write_file output-denied\] All right, I leave the file as it is\.$/);
    const again = page.sendMessage({ text: "Do it after all" });
    await untilAsked(page);
    await page.stop();
    await again;
    await page.sendMessage({ text: "What have you done so far?" });
    assert.match(lastOf(page), /written 0 times\. The last tests had 2 failures\.$/);
    const [, , , stopped] = await transport.load();
    assert.deepEqual(stopped?.metadata, { status: "interrupted" });
    assert.ok(stopped?.parts.filter(isToolUIPart).every(({ state }) => state !== "approval-responded"));
  });
});
