// What a user might deploy: each kind of task there is, and an actor. Each run says by its output what it saw of itself.

export const MIXED_CODE = `
import { actor, sandbox, step, task, uuid, wait, type RunContext } from "@keelson/sdk";

type Payload = { label: string };

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const say = ({ label }: Payload, ctx: RunContext) =>
  console.log(label + " in attempt " + ctx.attempt.number);

/** A run without anything durable. */
async function work(payload: Payload, ctx: RunContext) {
  say(payload, ctx);
  for (let part = 0; part < 5; part += 1) {
    await pause(150);
    ctx.metadata.set("part", ctx.attempt.number + "." + part);
  }
  return { label: payload.label, attempt: ctx.attempt.number };
}

export const plain = task({ id: "plain", run: work });
export const only = task({ id: "only", retry: { maxAttempts: 1 }, run: work });
export const shared = task({ id: "shared", execution: "shared", run: work });

export const steps = task({
  id: "steps",
  async run(payload: Payload, ctx) {
    say(payload, ctx);
    const id = await uuid();
    const slow = (name: string) => step(name, () => pause(200).then(() => name + " of " + crypto.randomUUID()));
    const first = await slow("first");
    await wait.for("1s");
    const second = await slow("second");
    return { label: payload.label, attempt: ctx.attempt.number, id, first, second };
  },
});

/**
 * Runs a command until it ends well: one that was killed has ended, and that is for its author to mend. Each try is
 * another command, so that what it wrote can be counted.
 */
async function insist(ctx: RunContext, label: string, script: (name: string) => string, expected: (name: string) => string) {
  for (let attempt = 1; attempt <= 10; attempt += 1) {
    const name = label + "-" + attempt;
    const { exitCode, stdout } = await ctx.workspace.exec(["sh", "-c", script(name)]);
    if (exitCode !== 0) continue;
    if (stdout !== expected(name)) throw new Error(name + " printed " + JSON.stringify(stdout));
    return name;
  }
  throw new Error("no command ends well");
}

const effect = (seconds: number) => (name: string) =>
  "echo begin " + name + " >> effects.txt && echo begin && sleep " + seconds +
  " && echo end " + name + " >> effects.txt && echo end";

async function build(payload: Payload, ctx: RunContext) {
  say(payload, ctx);
  const { label } = payload;
  const quick = await insist(ctx, label + "-quick", effect(0), () => "begin\\nend\\n");
  const slow = await insist(ctx, label + "-slow", effect(1), () => "begin\\nend\\n");
  // Reads back what both have written, and of each once.
  const lines = [quick, slow].flatMap((name) => ["begin " + name, "end " + name]);
  const patterns = lines.map((line) => " -e '" + line + "'").join("");
  await insist(ctx, label + "-read", () => "grep -x" + patterns + " effects.txt", () => lines.join("\\n") + "\\n");
  return { label, attempt: ctx.attempt.number };
}

/** In a workspace that it is given. */
export const inGiven = task({ id: "in-given", run: build });

export const own = sandbox({ id: "own" });
export const inOwn = task({ id: "in-own", sandbox: own, run: build });

export const parent = task({
  id: "parent",
  async run(payload: Payload, ctx) {
    say(payload, ctx);
    const { label } = payload;
    const children = await Promise.all([
      plain.call({ label: label + "/1" }),
      shared.call({ label: label + "/2" }),
      steps.call({ label: label + "/3" }),
    ]);
    return { label, attempt: ctx.attempt.number, children: children.map((child) => child.label) };
  },
});

export const answering = actor({
  id: "answering",
  idleTimeout: "1s",
  async run(session, ctx) {
    for await (const { data } of session.input) {
      const thought = await ctx.step("think", () => pause(100).then(() => data));
      await session.output("answers").append(thought);
    }
  },
});
`;
