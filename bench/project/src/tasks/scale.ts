import { queue, task, tokens } from "@keelson/sdk";
import { noopShared } from "./noop.ts";

const nowNs = (): string => process.hrtime.bigint().toString();

async function waitForToken({ token }: { token: string }) {
  await tokens.wait(token);
  return { runningAtNs: nowNs() };
}

/** Wait for a token that the caller made, and say when they went on. */
export const waits = task({ id: "waits", run: waitForToken });
export const waitsShared = task({ id: "waits-shared", execution: "shared", run: waitForToken });

export const tellTime = task({
  id: "tell-time-shared",
  execution: "shared",
  run: () => ({ runningAtNs: nowNs() }),
});

/** Milliseconds of each of so many steps that follow each other. */
export const steps = task({
  id: "steps",
  execution: "shared",
  async run({ count }: { count: number }, ctx) {
    const times: number[] = [];
    let from = performance.now();
    for (let step = 0; step < count; step += 1) {
      await ctx.step("step", () => null);
      const now = performance.now();
      times.push(now - from);
      from = now;
    }
    return times;
  },
});

/** Fails after so many steps. The second attempt says after how many milliseconds its first new step began. */
export const resumes = task({
  id: "resumes",
  execution: "shared",
  retry: { maxAttempts: 2, initialDelay: "1ms" },
  async run({ count }: { count: number }, ctx) {
    const from = performance.now();
    for (let step = 0; step < count; step += 1) await ctx.step("step", () => null);
    if (ctx.attempt.number === 1) throw new Error("once more");
    return ctx.step("new", () => performance.now() - from);
  },
});

/** Milliseconds of each chunk of children. */
export const fansOut = task({
  id: "fans-out",
  execution: "shared",
  async run({ chunks, size }: { chunks: number; size: number }) {
    const times: number[] = [];
    for (let chunk = 0; chunk < chunks; chunk += 1) {
      const from = performance.now();
      await noopShared.batchCall(Array.from({ length: size }, () => ({ payload: undefined })));
      times.push(performance.now() - from);
    }
    return times;
  },
});

/** One queue, and many, which let as many runs through at once. */
const LIMITED = 900;
queue({ name: "limited", concurrencyLimit: LIMITED });
for (let index = 0; index < LIMITED; index += 1) queue({ name: `limited-${index}`, concurrencyLimit: 1 });
