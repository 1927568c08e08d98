import type { Exec } from "@keelson/contract";

export const isOver = ({ status }: Pick<Exec, "status">): boolean =>
  status !== "pending" && status !== "running";

/** The exit code, or the signal that ended it. */
export function exitText({ exit_code: code, signal, timed_out: timedOut }: Exec): string {
  if (timedOut) return "timed out";
  return code === null ? (signal ?? "") : String(code);
}
