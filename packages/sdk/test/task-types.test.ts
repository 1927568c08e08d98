import { test } from "node:test";
import { task, type Client, type InputOf, type OutputOf, type RunOf } from "@keelson/sdk";
import { z } from "zod";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const isTrue = <T extends true>(): T | undefined => undefined;

const report = task({
  id: "types-report",
  payload: z.object({ path: z.string(), depth: z.coerce.number().default(3) }),
  run: async (payload, ctx) => {
    isTrue<Equal<typeof payload, { path: string; depth: number }>>();
    isTrue<Equal<typeof ctx.attempt, { number: number; max: number }>>();
    return { files: payload.depth };
  },
});
isTrue<Equal<OutputOf<typeof report>, { files: number }>>();
isTrue<Equal<InputOf<typeof report>["path"], string>>();

const annotated = task({
  id: "types-annotated",
  payload: { type: "object" },
  run: (payload: { n: number }) => payload.n,
});
isTrue<Equal<InputOf<typeof annotated>, { n: number }>>();

const bare = task({ id: "types-bare", run: () => "done" });

/** For the compiler alone: what is inferred, and what is refused. */
async function check(client: Client): Promise<void> {
  const run = await client.tasks.start(report, { path: "." });
  isTrue<Equal<typeof run.output, { files: number } | null>>();
  isTrue<Equal<typeof run, RunOf<typeof report>>>();
  await client.tasks.start<typeof report>("types-report", { path: ".", depth: 1 }, { tags: ["x"] });
  await client.tasks.start(bare);
  await client.tasks.start("any-name");
  await client.tasks.start("any-name", { anything: true });
  const ended = await client.runs.wait(run);
  isTrue<Equal<typeof ended, typeof run>>();

  // @ts-expect-error the payload is required
  await client.tasks.start(report);
  // @ts-expect-error a path is text
  await client.tasks.start(report, { path: 1 });
  // @ts-expect-error a path is text, by name too
  await client.tasks.start<typeof report>("types-report", { path: 1 });
  // @ts-expect-error n is a number
  await client.tasks.start(annotated, { n: "1" });
  // @ts-expect-error no such option
  await client.tasks.start(bare, undefined, { retries: 3 });

  // @ts-expect-error a duration has a unit
  task({ id: "types-duration", maxDuration: "5 minutes", run: () => 1 });
  // @ts-expect-error an id is needed
  task({ run: () => 1 });
}

test("the types of a task are those of its schema or of its run function", () => {
  // The compiler has checked them, or this file would not have passed it.
  void check;
});
