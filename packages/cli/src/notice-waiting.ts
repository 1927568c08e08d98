import type { ExecHandle, PtyHandle, WorkspaceHandle } from "@keelson/sdk";
import { setTimeout as pause } from "node:timers/promises";

/** Longer than a machine that is there takes. */
const NOTICE_AFTER_MS = 3_000;

/** Says once what a process that has not begun waits for, so that nobody wonders at a silent terminal. */
export async function noticeWaiting(
  workspace: WorkspaceHandle,
  process: ExecHandle | PtyHandle,
  signal: AbortSignal,
  say: (text: string) => void,
): Promise<void> {
  await pause(NOTICE_AFTER_MS, undefined, { signal });
  if ((await process.get({ signal })).status !== "pending") return;
  const { statusReason: reason, materialization } = await workspace.get({ signal });
  say(reason?.message ?? `The workspace is ${materialization?.status ?? "on no machine yet"}.`);
}
