// A poll of a worker that waits.

import { setTimeout as sleep } from "node:timers/promises";
import { recordQueries } from "./record-queries.ts";

/** Makes a call, and resolves when it has looked: when a statement was sent that fits. Its answer is to come. */
export async function openPoll<Answer>(
  poll: () => Promise<Answer>,
  look: RegExp,
): Promise<{ answer: Promise<Answer> }> {
  let answer: Promise<Answer> | undefined;
  for (let hasLooked = false; !hasLooked;) {
    const recorded = await recordQueries(async () => {
      answer ??= poll();
      await sleep(20);
    });
    hasLooked = recorded.some(({ text }) => look.test(text));
  }
  return { answer: answer as Promise<Answer> };
}
