// How much of a conversation one turn answers.

import assert from "node:assert/strict";
import { test } from "node:test";
import { chatActor, type ChatInput } from "@keelson/sdk/ai";
import { scriptedModel } from "./support/chat-model.ts";
import { outputOf, runOf } from "./support/declare.ts";

const LARGE = `data:text/plain;base64,${"A".repeat(240_000)}`;

test("a turn ends when what was said in it fills a quarter of its journal", async () => {
  const { id } = chatActor({ id: "chat-of-files", model: scriptedModel(() => ({ text: "Seen." })) });
  const { run, start } = runOf({ kind: "actor", id });
  const { session } = await run.started();
  for (let n = 0; n < 10; n += 1) {
    const file = { type: "file", mediaType: "text/plain", url: LARGE } as const;
    const data: ChatInput = { message: { id: `file-${n}`, role: "user", parts: [file] } };
    await run.call("POST", `/api/sessions/${session.id}/inputs/input`, { data, correlation_id: `${n}` });
  }
  // The next turn has the last message.
  assert.deepEqual(outputOf(await start().ended), { answers: 9 });
  await run.call("POST", `/api/sessions/${session.id}/cancel`, {});
});
