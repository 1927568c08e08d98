import fc from "fast-check";
import { random, sessions, step, tokens, wait } from "@keelson/sdk";

/** A program of durable calls, to be executed, cut off and replayed. */
export type Node =
  | { kind: "step" | "failing" | "value" | "timer" | "token" | "send" }
  | { kind: "all" | "race"; branches: Node[][] };

const leaf: fc.Arbitrary<Node> = fc.record({
  kind: fc.constantFrom(
    "step" as const,
    "step" as const,
    "failing" as const,
    "value" as const,
    "timer" as const,
    "token" as const,
    "send" as const,
  ),
});

export const programs: fc.Arbitrary<Node[]> = fc.letrec<{ nodes: Node[]; node: Node }>((tie) => ({
  nodes: fc.array(tie("node"), { minLength: 1, maxLength: 4 }),
  node: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    { weight: 4, arbitrary: leaf },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constantFrom("all" as const, "race" as const),
        branches: fc.array(tie("nodes"), { minLength: 1, maxLength: 3 }),
      }),
    },
  ),
})).nodes;

export const has = (nodes: readonly Node[], kind: Node["kind"]): boolean =>
  nodes.some((node) => node.kind === kind || ("branches" in node && node.branches.some((b) => has(b, kind))));

/** A time that follows from the seed and the place: timers come due in any order. */
function minutesOf(seed: number, path: string): number {
  let hash = seed;
  for (const char of path) hash = (Math.imul(hash, 31) + char.charCodeAt(0)) | 0;
  return 1 + ((Math.imul(hash, 2_654_435_761) >>> 8) % 15);
}

/** What a program is executed with. */
export type Scene = { seed: number; otherSession: string; trace: Trace };

/** What one execution of a program has seen and done. */
export type Trace = {
  /** Each outcome when the code got it. */
  seen: string[];
  /** Each run of a step's function, with the values that the code had drawn before it. */
  effects: { step: string; drawn: number[] }[];
};

/** Runs the program and gives what its end depends on: who won each race, and every value drawn on the way. */
export async function runProgram(program: readonly Node[], scene: Scene): Promise<unknown> {
  const { seed, otherSession, trace } = scene;
  const drawn: number[] = [];

  // `before` has what this branch has drawn: what others draw at the same time is no matter of its steps.
  const runLeaf = async (kind: Node["kind"], path: string, before: number[]): Promise<void> => {
    switch (kind) {
      case "value":
        before.push(random());
        drawn.push(before.at(-1) as number);
        return;
      case "step":
        await step(path, () => {
          trace.effects.push({ step: path, drawn: [...before] });
          return { path };
        });
        break;
      case "failing":
        await step(path, () => {
          throw new Error(path);
        }).catch(() => undefined);
        break;
      case "timer":
        await wait.for(`${minutesOf(seed, path)}m`, { name: path });
        break;
      case "token":
        await (await tokens.create()).wait();
        break;
      default:
        await sessions.send(otherSession, path);
    }
    trace.seen.push(path);
  };

  const runAll = async (nodes: readonly Node[], path: string, before: number[] = []): Promise<string> => {
    for (const [index, node] of nodes.entries()) {
      const place = `${path}.${index}`;
      if (!("branches" in node)) {
        await runLeaf(node.kind, place, before);
        continue;
      }
      const branches = node.branches.map((branch, at) => runAll(branch, `${place}${"abc"[at]}`, [...before]));
      if (node.kind === "all") await Promise.all(branches);
      // What comes after a race is called by its winner, so that another winner is another program.
      else await step(`after ${await Promise.race(branches)}`, () => null);
    }
    return path;
  };

  await runAll(program, "p");
  return drawn;
}
