import { setTimeout as sleep } from "node:timers/promises";
import { actor } from "@keelson/sdk";

/** Answers each input as a model does: a piece every few milliseconds, which says when it was written. */
export const talks = actor({
  id: "talks",
  execution: "shared",
  async run(session) {
    for await (const { data } of session.input) await session.output.pipe(answer(data as Wanted));
  },
});

type Wanted = { pieces: number; everyMs: number };

async function* answer({ pieces, everyMs }: Wanted): AsyncGenerator<{ at: number }> {
  for (let piece = 0; piece < pieces; piece += 1) {
    await sleep(everyMs);
    yield { at: Number(process.hrtime.bigint()) };
  }
}
