import { startChild } from "../harness/child.ts";
import type { Keelson } from "../ours/keelson.ts";
import type { SendCommand } from "./p4-sender-process.ts";

/**
 * P4: tasks a second from the first `start()` of concurrent SDK callers in one process until all have succeeded, run by
 * one agent, which is already there.
 */
export async function measureEndToEnd(
  keelson: Keelson,
  tasks: number,
  callers: number,
  task = "noop",
): Promise<number> {
  const sender = startChild(new URL("./p4-sender-process.ts", import.meta.url));
  try {
    const before = (await keelson.api.counts()).succeeded;
    const { url, apiKey } = keelson;
    const command: SendCommand = { url, apiKey, task, tasks, callers, before };
    const { seconds } = await sender.ask<{ seconds: number }>(command, 90_000);
    return tasks / seconds;
  } finally {
    await sender.stop();
  }
}
