/** Tasks and actors for tests with the real server. Module text, as its author would write it. */
export const DURABLE_TASKS = `
import { actor, ChildRunError, now, sessions, step, task, tokens, wait } from "@keelson/sdk";

task({
  id: "approve",
  async run(_payload, ctx) {
    const order = await step("reserve", () => ({ order: 7, pid: process.pid }));
    const token = await tokens.create({ timeout: "1h", metadata: { order: order.order } });
    ctx.metadata.set("callback", token.callbackUrl);
    ctx.metadata.increment("asked");
    const decision = await token.wait();
    const shipped = await step("ship", () => process.pid);
    return { decision, reserved: order.pid, shipped };
  },
});

task({ id: "nap", async run() { const from = now(); await wait.for("200ms"); return now().getTime() - from.getTime(); } });

const child = task({
  id: "child",
  async run({ n }) {
    if (n < 0) throw new Error("negative");
    await wait.for("50ms");
    return n * 2;
  },
  retry: { maxAttempts: 1 },
});

task({
  id: "parent",
  async run() {
    const doubled = await Promise.all([1, 2, 3].map((n) => child.call({ n })));
    const failed = await child.call({ n: -1 }).catch((error) => error instanceof ChildRunError ? [error.status, error.failure.message] : String(error));
    return { doubled, failed };
  },
});

task({
  id: "flaky",
  retry: { maxAttempts: 3, initialDelay: "50ms", jitter: false },
  async run(_payload, { attempt }) {
    const first = await step("first", () => process.hrtime.bigint().toString());
    await step("second", () => { if (attempt.number < 2) throw new Error("not yet"); });
    return { attempt: attempt.number, first };
  },
});

task({
  id: "race",
  async run() {
    const token = await tokens.create();
    return Promise.race([token.wait().then(() => "token"), wait.for("100ms").then(() => "timer")]);
  },
});

task({
  id: "march",
  async run({ steps }) {
    const pids = [];
    for (let i = 0; i < steps; i += 1) {
      pids.push(await step("step " + i, () => process.pid));
      await wait.for("60ms");
    }
    return pids;
  },
});

task({ id: "sleeper", async run() { await wait.for("1h"); } });
task({
  id: "drifter",
  async run() {
    await step("at " + crypto.randomUUID(), () => 1);
    await (await tokens.create()).wait();
  },
});

actor({
  id: "talker",
  idleTimeout: "1h",
  async run(session, ctx) {
    let received = 0;
    for await (const message of session.input) {
      received += 1;
      await session.output.append({ echo: message.data }, { correlationId: message.correlationId });
      if (message.data === "stream") {
        const text = await session.output("text").pipe((async function* () { yield "a"; yield "b"; yield "c"; })());
        await session.output.append(text.join(""));
      }
      if (message.data === "bye") break;
    }
    return { received, turn: session.turn, externalId: session.externalId };
  },
});

actor({
  id: "writer",
  async run(session) {
    const heard = [];
    for (const answer of ["endless", "short"]) {
      const input = await session.input.receive();
      const pieces = await session.output.pipe(async function* ({ signal }) {
        yield "It ";
        if (answer === "endless") await new Promise((resolve) => signal.addEventListener("abort", resolve));
        yield "is so.";
      });
      heard.push([input.data, pieces.join(""), pieces.interrupted]);
    }
    return heard;
  },
});

task({ id: "caller", async run({ session }) { await sessions.send(session, "from a run"); } });
`;
