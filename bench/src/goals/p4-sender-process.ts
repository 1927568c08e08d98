import { Client } from "@keelson/sdk";
import { answerMessages } from "../harness/child.ts";
import { PAYLOAD } from "../floors/insert-table.ts";
import { waitFor } from "../ours/api.ts";

/** `before`: how many runs had succeeded already. */
export type SendCommand = {
  url: string;
  apiKey: string;
  task: string;
  tasks: number;
  callers: number;
  before: number;
};

/** The caller's process of P4: what a user's program does. */
answerMessages<SendCommand>(async ({ url, apiKey, task, tasks, callers, before }) => {
  const client = new Client({ url, apiKey });
  const payload = JSON.parse(PAYLOAD) as unknown;
  await client.runs.counts(); // Opens the connection, as the peer's is open.
  const from = performance.now();
  let next = 0;
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (next < tasks) {
        next += 1;
        await client.tasks.start(task, payload);
      }
    }),
  );
  await waitFor(
    "all runs to have succeeded",
    60_000,
    async () => (await client.runs.counts()).succeeded >= before + tasks,
  );
  return { seconds: (performance.now() - from) / 1000 };
});
