// A wait for a run whose server is away for long, on a clock that the test moves.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "@keelson/sdk";
import { VirtualClock } from "./support/virtual-clock.ts";

type Answer = "running" | "succeeded" | "away";

/** Waits for a run at a server without streams that answers like this, the last one for ever. Virtual milliseconds it took. */
async function wait(answers: readonly Answer[]): Promise<{ status: string; tookMs: number; polls: number }> {
  let polls = 0;
  const client = new Client({
    ...{ url: "http://127.0.0.1:1", apiKey: "test", maxRetries: 0 },
    fetch: async (url) => {
      if ((url as string).includes("/api/")) return new Response(null, { status: 405 });
      const status = answers[Math.min(polls, answers.length - 1)] as Answer;
      polls += 1;
      if (status === "away") throw new TypeError("fetch failed");
      return Response.json({ id: "run_1", status });
    },
  });
  const clock = new VirtualClock();
  const over = new AbortController();
  const waiting = clock.place().run(() => client.runs.wait("run_1").finally(() => over.abort()));
  waiting.catch(() => undefined);
  while (!over.signal.aborted) {
    await new Promise(setImmediate);
    clock.advance();
  }
  return { status: (await waiting).status, tookMs: clock.now, polls };
}

test("a server that has answered once is asked until it answers again", async () => {
  const hour = Array.from({ length: 720 }, (): Answer => "away");
  const { status, tookMs, polls } = await wait(["running", ...hour, "succeeded"]);
  assert.deepEqual([status, polls], ["succeeded", 722]);
  assert.ok(tookMs > 3_500_000);
});

test("a server that never answers is given up", async () => {
  await assert.rejects(wait(["away"]), /Cannot reach http:\/\/127\.0\.0\.1:1/);
});
