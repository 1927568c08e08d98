// A poll of a worker that waits.

import { recordQueries } from "./record-queries.ts";
import { letPass } from "./until.ts";

/** Makes a call, and resolves when it has looked: when a statement was sent that fits. Its answer is to come. */
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
  }
  return { answer: answer as Promise<Answer> };
}
