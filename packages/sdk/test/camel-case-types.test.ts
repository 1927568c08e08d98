import { test } from "node:test";
import type { Client, CreatedToken, Deployment, Run, RunOf, StreamRecord } from "@keelson/sdk";
import { task } from "@keelson/sdk";
import type { CamelCased } from "../src/client/camel-cased.ts";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(isSame: Same<A, B>): boolean => isSame;

const report = task({
  id: "camel-case-report",
  run: async (payload: { file_name: string }) => ({ row_count: payload.file_name.length }),
});

/** Never called: the compiler alone looks at it. */
export async function look(client: Client, run: Run): Promise<void> {
  same<Run["createdAt"], string>(true);
  same<Run["retry"]["maxAttempts"], number | undefined>(true);
  same<Run["payload"], unknown>(true);
  same<Run["metadata"], Record<string, unknown>>(true);
  same<StreamRecord["data"], unknown>(true);
  same<CreatedToken["callbackUrl"], string>(true);
  same<Deployment["bundle"]["sizeBytes"], number>(true);
  // @ts-expect-error The wire's spelling is not the SDK's.
  run.created_at satisfies unknown;
  // @ts-expect-error Inner objects too.
  run.retry.max_attempts satisfies unknown;

  // What a user declared stays as it is.
  const started = await client.tasks.start(report, { file_name: "a.csv" });
  same<typeof started, RunOf<typeof report>>(true);
  same<NonNullable<(typeof started)["output"]>["row_count"], number>(true);
  // @ts-expect-error A user's payload is not renamed.
  await client.tasks.start(report, { fileName: "a.csv" });

  // A map's keys are names, and its values are ours.
  same<CamelCased<Record<string, { a_b: 1 }>>, Record<string, { aB: 1 }>>(true);
  same<CamelCased<{ a_b_c?: readonly { d_e: unknown }[] | null }>, { aBC?: { dE: unknown }[] | null }>(true);
  const { nextCursor } = await client.runs.list().page();
  same<typeof nextCursor, string | null>(true);
}

test("the compiler knows the spelling", () => undefined);
