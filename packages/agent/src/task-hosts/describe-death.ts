import type { FailureKind } from "@keelson/contract";
import type { Thrown } from "../host/frames.ts";

/** Why the agent itself ended a host. */
export type KillCause =
  | "out_of_memory"
  | "timed_out"
  | "cancelled"
  | "stopped"
  | "unresponsive"
  | "boot_timeout"
  | "idle";

/** How a host process ended. */
export type HostDeath = {
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  killCause: KillCause | null;
  /** The error that ended it, when the host could still say so. */
  uncaught: Thrown | null;
  /** The last bytes of its stderr, as text. */
  stderrTail: string;
  /** The process could not be started at all. */
  spawnError: Error | null;
};

export type DeathFailure = { kind: FailureKind; message: string; stack: string | null; retryable: boolean };

const HEAP_EXHAUSTED = /JavaScript heap out of memory|FATAL ERROR: .*(Allocation failed|heap limit)/;

/** What a death means for a run that was in that process. */
export function describeDeath(death: HostDeath, memoryMb: number | null): DeathFailure {
  const { exitCode, signal, killCause, uncaught, stderrTail } = death;
  if (killCause === "out_of_memory") {
    return failure(
      "out_of_memory",
      `The process used more memory than memory_mb allows (${memoryMb} MiB) and was ended.`,
    );
  }
  if (HEAP_EXHAUSTED.test(stderrTail) && exitCode !== 0) {
    const limit =
      memoryMb === null ? "Node's default; declare memory_mb to raise it" : `memory_mb, ${memoryMb} MiB`;
    return failure("out_of_memory", `The JavaScript heap reached its limit (${limit}).`);
  }
  if (uncaught !== null)
    return { kind: "application_error", message: uncaught.message, stack: uncaught.stack, retryable: true };
  if (killCause === "unresponsive")
    return failure(
      "application_error",
      "The shared process no longer answered and was ended; a run in it blocks its event loop.",
    );
  if (death.spawnError !== null)
    return failure(
      "application_error",
      `The task's process could not be started: ${death.spawnError.message}`,
    );
  const how = signal === null ? `exited with code ${exitCode}` : `was ended by ${signal}`;
  const hint = signal === "SIGKILL" && killCause === null ? " (the system may have run out of memory)" : "";
  return {
    ...failure("application_error", `The process ${how}${hint} before the task ended.`),
    stack: lastLines(stderrTail),
  };
}

const failure = (kind: FailureKind, message: string): DeathFailure => ({
  kind,
  message,
  stack: null,
  retryable: true,
});

function lastLines(text: string): string | null {
  const lines = text.trimEnd().split("\n").slice(-20).join("\n");
  return lines === "" ? null : `Last lines of stderr:\n${lines}`;
}
