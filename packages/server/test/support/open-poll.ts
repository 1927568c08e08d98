// A poll of a worker that waits.

import { setImmediate as turn } from "node:timers/promises";
import { recordQueries } from "./record-queries.ts";
import { letPass } from "./until.ts";

/** Makes a call, and resolves when it has looked: when a statement that fits was answered. What it is asked for is to come. */
export async function openPoll<Answer>(
  poll: () => Promise<Answer>,
  look: RegExp,
): Promise<{ answer: Promise<Answer> }> {
  let answer: Promise<Answer> | undefined;
  for (let hasLooked = false; !hasLooked;) {
    const recorded = await recordQueries(async () => {
      answer ??= poll();
      await letPass(20, "the poll looks meanwhile");
    });
    hasLooked = recorded.some(({ text }) => look.test(text));
    // With those beside it; and the server goes on with what they say.
    if (hasLooked) await Promise.all(recorded.map(({ answered }) => answered));
  }
  await turn();
  return { answer: answer as Promise<Answer> };
}
