import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Client, Run } from "@keelson/sdk";
import type { Everything } from "../../repository-report/test/support/start-everything.ts";
import { openConversation, type Conversation } from "./support/conversation.ts";
import { startChat } from "./support/start-chat.ts";

let everything: Everything;
let client: Client;
/** One whose approval nobody gives: it takes its time while the others go on. */
let expiring: Conversation;
let expiringMessage: string;

async function runsOf(sessionId: string): Promise<Run[]> {
  const runs: Run[] = [];
  for await (const run of client.sessions.runs(sessionId)) runs.push(run);
  return runs;
}

const open = () => openConversation(client, everything.url);

describe("the conversation on a real server", { timeout: 120_000 }, () => {
  before(async () => {
    everything = await startChat({ parkAfter: "0s", idleSeconds: 4, expiresAfterSeconds: 20 });
    client = everything.client;
    expiring = await open();
    expiringMessage = await expiring.send("stop the build server");
  });
  after(() => everything.stop());

  test("an answer comes in pieces, with the message's correlation id", async () => {
    const chat = await open();
    const message = await chat.send("Hello");
    await chat.until("answered");
    const [first, begin, ...pieces] = chat.records;
    assert.deepEqual(first?.data, { type: "message", text: "Hello", turn: 1 });
    assert.deepEqual(begin?.data, { type: "answer" });
    assert.deepEqual(pieces.pop()?.data, { type: "answered" });
    assert.ok(pieces.length > 20, String(pieces.length));
    assert.ok(chat.records.every(({ correlationId: of }) => of === message));
    assert.match(chat.answersTo(message)[0] ?? "", /^You said “Hello”\. .*database”\.$/);
    await chat.end();
  });

  test("an answer that is stopped ends there, and nothing of it is done", async () => {
    const chat = await open();
    // So many words take longer than anybody needs to stop them.
    const message = await chat.send(`delete the ${"very ".repeat(300)}old archive`);
    await chat.until("piece");
    await client.sessions.interrupt(chat.id, chat.messageId());
    await chat.until("stopped");
    const next = await chat.send("Hello");
    await chat.until("answered");
    assert.doesNotMatch(chat.answersTo(message).join(""), /until you say yes\.$/);
    assert.match(chat.answersTo(next)[0] ?? "", /^You said “Hello”\./);
    assert.ok(chat.records.every(({ data }) => data.type !== "approval"));
    await chat.end();
  });

  test("an approval that is stopped is not waited for, and nothing is done", async () => {
    const chat = await open();
    await chat.send("delete the archive");
    const approval = await chat.until("approval");
    await client.sessions.interrupt(chat.id, chat.messageId());
    assert.equal((await chat.until("decision")).outcome, "stopped");
    await chat.until("stopped");
    await chat.decide(approval, { approved: true });
    const next = await chat.send("Hello");
    await chat.until("answered");
    assert.match(chat.answersTo(next)[0] ?? "", /^You said “Hello”\./);
    const [run] = await runsOf(chat.id);
    for await (const { kind, attributes } of client.runs.events((run as Run).id))
      assert.ok(kind !== "step.completed" || attributes["step"] !== "act");
    await chat.end();
  });

  test("an action is taken once, after it was approved, by a run that was suspended meanwhile", async () => {
    const chat = await open();
    const message = await chat.send("Please delete the staging database.");
    const approval = await chat.until("approval");
    assert.equal(approval.action, "delete the staging database");
    const [run] = await runsOf(chat.id);
    let waitsForToken = false;
    for await (const { kind, attributes } of client.runs.events((run as Run).id, { follow: true })) {
      waitsForToken ||= kind === "wait.created" && attributes["kind"] === "token";
      if (waitsForToken && kind === "run.suspended") break;
    }
    await chat.decide(approval, { approved: true });
    assert.equal((await chat.until("decision")).outcome, "approved");
    await chat.until("answered");
    const [before, afterwards] = chat.answersTo(message);
    assert.match(before ?? "", /I will wait until you say yes\.$/);
    assert.match(afterwards ?? "", /^It is done: delete the staging database/);
    const steps = [];
    for await (const { kind, attributes } of client.runs.events((run as Run).id))
      if (kind === "step.completed") steps.push(attributes["step"]);
    assert.deepEqual(steps, ["answer", "act", "answer"]);
    await chat.end();
  });

  test("what was refused, or only looks like a yes, is not done", async () => {
    for (const data of [{ approved: false }, { approved: "yes" }, true, null]) {
      const chat = await open();
      const message = await chat.send("restart the mail server");
      await chat.decide(await chat.until("approval"), data);
      assert.equal((await chat.until("decision")).outcome, "refused", JSON.stringify(data));
      await chat.until("answered");
      assert.equal(chat.answersTo(message)[1], "All right, I have left everything as it is.");
      await chat.end();
    }
  });

  test("after a pause the next turn goes on with what was said before", async () => {
    const chat = await open();
    await chat.send("The blue one");
    await chat.until("answered");
    await chat.decide((await chat.send("delete the red one"), await chat.until("approval")), {
      approved: false,
    });
    await chat.until("answered");
    const [first] = await runsOf(chat.id);
    assert.deepEqual((await client.runs.wait(first as Run)).output, { messages: 2 });
    const question = await chat.send("What did I say first?");
    assert.equal((await chat.until("message")).turn, 2);
    await chat.until("answered");
    assert.equal(
      chat.answersTo(question)[0],
      "You have written 3 messages in this conversation. The first one was “The blue one”.",
    );
    assert.equal((await runsOf(chat.id)).length, 2);
    const kept = [];
    for await (const { data } of client.sessions.records<{ role: string }>(chat.id, { stream: "history" }))
      kept.push(data.role);
    assert.deepEqual(kept, [
      ...["user", "assistant", "user", "assistant", "outcome", "assistant"],
      ...["user", "assistant"],
    ]);
    await chat.end();
  });

  test("what is no message is told so, and the conversation goes on", async () => {
    const chat = await open();
    for (const text of [5, "", " ", "x".repeat(4_001)]) {
      await chat.send(text);
      assert.match((await chat.until("failed")).reason, /A message is \{"text": …\}/);
    }
    await chat.send("Hello");
    await chat.until("answered");
    await chat.end();
  });

  test("a closed conversation ends when the message at hand is answered", async () => {
    const chat = await open();
    await chat.send("Hello");
    await chat.until("answer");
    await client.sessions.close(chat.id);
    await chat.until("answered");
    await assert.rejects(chat.until("message"), /ended without message/);
    const [run] = await runsOf(chat.id);
    assert.equal((run as Run).status, "succeeded");
  });
  test("an approval that nobody gives expires", async () => {
    const { expiresAt } = await expiring.until("approval");
    assert.equal((await expiring.until("decision")).outcome, "expired");
    assert.ok(Date.now() >= Date.parse(expiresAt) - 1_000, expiresAt);
    await expiring.until("answered");
    assert.match(expiring.answersTo(expiringMessage)[1] ?? "", /^Nobody decided in time/);
    await expiring.end();
  });
});
