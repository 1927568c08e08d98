import fc from "fast-check";
import { random, step, task, tokens, wait } from "@keelson/sdk";

const LEAVES = ["step", "slow", "failing", "retried", "value", "timer", "token", "child"] as const;
const FORKS = ["all", "settled", "race", "any"] as const;

type Leaf = { kind: (typeof LEAVES)[number]; ms: number };

/** A program of durable calls with I/O of its own between them. */
export type Part = Leaf | { kind: "io" } | { kind: (typeof FORKS)[number]; branches: Part[][] };

const MAX_MS = 5_000;
const leaf = fc.record({ kind: fc.constantFrom(...LEAVES), ms: fc.integer({ min: 0, max: MAX_MS }) });
const io = fc.constant({ kind: "io" as const });

export const programs: fc.Arbitrary<Part[]> = fc.letrec<{ parts: Part[]; part: Part }>((tie) => ({
  parts: fc.array(tie("part"), { minLength: 1, maxLength: 3 }),
  part: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    { weight: 4, arbitrary: leaf },
    { weight: 2, arbitrary: io },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constantFrom(...FORKS),
        branches: fc.array(tie("parts"), { minLength: 2, maxLength: 2 }),
      }),
    },
  ),
})).parts;

/** The program with a step behind each branch of a race whose end would be I/O of its own. */
export function decidedByCalls(parts: readonly Part[]): Part[] {
  return parts.map((part) => {
    if (!("branches" in part)) return part;
    const isRace = part.kind === "race" || part.kind === "any";
    const branches = part.branches.map((branch) => {
      const decided = decidedByCalls(branch);
      return isRace ? [...decided, { kind: "step" as const, ms: 0 }] : decided;
    });
    return { ...part, branches };
  });
}

export const countParts = (parts: readonly Part[]): number =>
  parts.reduce(
    (sum, part) => sum + 1 + ("branches" in part ? part.branches.reduce((n, b) => n + countParts(b), 0) : 0),
    0,
  );

const child = task({ id: "own-io-child", run: (path: string) => path });
/** By the clock of the execution's place, which a harness moves on: none of it is time of the test. */
const takeVirtual = (ms: number): Promise<void> => new Promise((end) => setTimeout(end, ms));

export type Execution = {
  /** How long the next I/O of the program's own takes. */
  nextIoMs(): number;
  /** Who won each race, by the race's place. */
  decided: Map<string, string>;
  /** Whatever happens in the code is counted, so that a harness sees when it stands still. */
  activity: number;
};

/** What has no name of its own follows a step, by which it is known whatever the I/O beside it does. */
async function runLeaf(
  { kind, ms }: Leaf,
  path: string,
  drawn: [path: string, value: number][],
): Promise<void> {
  let tries = 0;
  switch (kind) {
    case "step":
      await step(path, () => path);
      break;
    case "slow":
      await step(path, async () => takeVirtual(ms));
      break;
    case "failing":
      await step(path, async () => {
        await takeVirtual(ms);
        throw new Error(path);
      });
      break;
    case "retried":
      await step(
        path,
        () => {
          tries += 1;
          if (tries < 2) throw new Error(path);
        },
        { retry: { maxAttempts: 2, initialDelay: ms, jitter: false } },
      );
      break;
    case "value":
      await step(path, () => 1);
      drawn.push([path, random()]);
      break;
    case "timer":
      await wait.for(`${ms}ms`, { name: path });
      break;
    case "token":
      await step(path, () => null);
      await (await tokens.create()).wait();
      break;
    case "child":
      await step(path, () => null);
      // Nothing of it is needed but that it is there.
      await child.start(path, { delay: "100d" });
      break;
  }
}

/** Runs the program and gives what it decided and drew. */
export async function runProgram(program: readonly Part[], execution: Execution): Promise<unknown> {
  const drawn: [path: string, value: number][] = [];

  const runPart = async (part: Part, path: string): Promise<void> => {
    execution.activity += 1;
    if (part.kind === "io") return takeVirtual(execution.nextIoMs());
    if (!("branches" in part)) return runLeaf(part, path, drawn);
    const branches = part.branches.map(async (branch, at) => {
      await runParts(branch, `${path}${"abc"[at]}`);
      return `${at}`;
    });
    const decide = (): Promise<string> => {
      if (part.kind === "race") return Promise.race(branches).catch(() => "failed");
      if (part.kind === "any") return Promise.any(branches).catch(() => "none");
      if (part.kind === "all")
        return Promise.all(branches).then(
          () => "all",
          () => "failed",
        );
      return Promise.allSettled(branches).then((all) => all.map(({ status }) => status[0]).join(""));
    };
    const winner = await decide();
    execution.decided.set(path, winner);
    await step(`after ${path} ${winner}`, () => null);
  };

  const runParts = async (parts: readonly Part[], path: string): Promise<void> => {
    for (const [index, part] of parts.entries()) {
      await runPart(part, `${path}.${index}`).finally(() => (execution.activity += 1));
    }
  };

  const result = await runParts(program, "p").then(
    () => "done",
    () => "failed",
  );
  await step("end", () => null);
  const inOrder = <V>(entries: readonly [string, V][]) => entries.toSorted(([a], [b]) => a.localeCompare(b));
  return { result, drawn: inOrder(drawn), decided: inOrder([...execution.decided]) };
}
