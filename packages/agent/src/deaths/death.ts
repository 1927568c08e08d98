import type { FailureKind } from "@keelson/contract";
import type { Thrown } from "../host/frames.ts";
import type { ProcessExit } from "../supervisor/calls.ts";

/**
 * The one place that says who a death is to be blamed on: user code, which made it and would most likely make it again,
 * or infrastructure, which the code has no part in. Task hosts, bundle checks, sandbox setup, execs and supervisors all
 * ask here. What infrastructure does is never told as a failure of the code: not of a run, not of a deployment.
 */

/** Why the agent itself ended a host. */
export type KillCause =
  | "out_of_memory"
  | "timed_out"
  | "cancelled"
  | "stopped"
  | "unresponsive"
  | "boot_timeout"
  | "ticket_taken"
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
  /** The machine gave it too little time to run: a time-out says nothing of its code. */
  starved: boolean;
};

/** Every way to die, and who is to blame. */
export const DEATHS = {
  out_of_memory: "user_code",
  heap_exhausted: "user_code",
  uncaught_error: "user_code",
  exit_code: "user_code",
  own_signal: "user_code",
  max_duration: "user_code",
  limit_exceeded: "user_code",
  cancelled: "user_code",
  unresponsive: "user_code",
  import_too_long: "user_code",
  ticket_taken: "user_code",
  command_not_found: "user_code",
  killed_from_outside: "infrastructure",
  not_started: "infrastructure",
  machine_overloaded: "infrastructure",
  stopped_by_agent: "infrastructure",
  supervisor_lost: "infrastructure",
} as const;

export type Death = keyof typeof DEATHS;
export type Blame = (typeof DEATHS)[Death];

export const blameFor = (death: Death): Blame => DEATHS[death];

/** Signals that come from the machine: its out-of-memory killer, its shutdown, an operator. Others are a program's own. */
const OUTSIDE_SIGNALS: ReadonlySet<string> = new Set(["SIGKILL", "SIGTERM"]);

/** What a system answers that cannot start any process now, whatever its program is. */
const EXHAUSTED =
  /\b(EAGAIN|ENOMEM|EMFILE|ENFILE)\b|Resource temporarily unavailable|Cannot allocate memory|Too many open files/i;

const HEAP_EXHAUSTED = /JavaScript heap out of memory|FATAL ERROR: .*(Allocation failed|heap limit)/;

/** How a task host died: under a run, while it imported a bundle, or in a check. */
export function classifyHost(death: HostDeath): Death {
  const { exitCode, signal, killCause, uncaught, spawnError, stderrTail, starved } = death;
  if (killCause === "out_of_memory") return "out_of_memory";
  if (HEAP_EXHAUSTED.test(stderrTail) && exitCode !== 0) return "heap_exhausted";
  if (uncaught !== null) return "uncaught_error";
  switch (killCause) {
    case "timed_out":
      return "max_duration";
    case "cancelled":
      return "cancelled";
    case "unresponsive":
      return starved ? "machine_overloaded" : "unresponsive";
    case "boot_timeout":
      return starved ? "machine_overloaded" : "import_too_long";
    case "stopped":
      return "stopped_by_agent";
    case "ticket_taken":
      return "ticket_taken";
    // Asked to go while nothing ran in it; what came in between is judged by how it ended.
    case "idle":
    case null:
      break;
  }
  if (spawnError !== null) return "not_started";
  if (signal === null) return "exit_code";
  return OUTSIDE_SIGNALS.has(signal) ? "killed_from_outside" : "own_signal";
}

/** How an exec, a terminal or a command of a sandbox's setup ended; null when its end was seen and is its own. */
export function classifyProcess({ outcome, signal, timedOut, error }: ProcessExit): Death | null {
  switch (outcome) {
    case "lost":
      return "supervisor_lost";
    case "cancelled":
    case "closed":
      return "stopped_by_agent";
    case "failed":
      return EXHAUSTED.test(error ?? "") ? "not_started" : "command_not_found";
    case "exited":
      if (timedOut) return "max_duration";
      // Of a program that ran only the limits of its workspace are told.
      if (error !== null) return "limit_exceeded";
      if (signal === null) return null;
      return OUTSIDE_SIGNALS.has(signal) ? "killed_from_outside" : "own_signal";
  }
}

export type DeathFailure = { kind: FailureKind; message: string; stack: string | null; retryable: boolean };

/** What a death means for a run that was in that process. Of infrastructure the kind is always `lease_lost`. */
export function describeDeath(death: HostDeath, memoryMb: number | null): DeathFailure {
  const classified = classifyHost(death);
  const message = sentenceOf(classified, death, memoryMb);
  if (blameFor(classified) === "infrastructure")
    return { kind: "lease_lost", message, stack: null, retryable: true };
  switch (classified) {
    case "out_of_memory":
    case "heap_exhausted":
      return { kind: "out_of_memory", message, stack: null, retryable: true };
    case "uncaught_error":
      return { kind: "application_error", message, stack: death.uncaught?.stack ?? null, retryable: true };
    case "unresponsive":
    case "ticket_taken":
      return { kind: "application_error", message, stack: null, retryable: true };
    default:
      return { kind: "application_error", message, stack: lastLines(death.stderrTail), retryable: true };
  }
}

function sentenceOf(classified: Death, death: HostDeath, memoryMb: number | null): string {
  const { exitCode, signal, uncaught, spawnError } = death;
  switch (classified) {
    case "out_of_memory":
      return `The process used more memory than memory_mb allows (${memoryMb} MiB) and was ended.`;
    case "heap_exhausted": {
      const limit =
        memoryMb === null ? "Node's default; declare memory_mb to raise it" : `memory_mb, ${memoryMb} MiB`;
      return `The JavaScript heap reached its limit (${limit}).`;
    }
    case "uncaught_error":
      return uncaught?.message ?? "An error was not caught.";
    case "unresponsive":
      return "The shared process no longer answered and was ended; a run in it blocks its event loop.";
    case "machine_overloaded":
      return "The worker's machine is overloaded: the process got too little time to run. Give the worker more cores or fewer slots.";
    case "import_too_long":
      return "The bundle was not imported in 30 s of running; something at its top level does not end.";
    case "ticket_taken":
      return "Code of this process has read what tells it which run to begin, from descriptor 5, so this one did not begin. Read only from descriptors that the code has opened.";
    case "not_started":
      return `The worker could not start a process: ${spawnError?.message ?? "the system refused"}.`;
    case "killed_from_outside": {
      const hint = signal === "SIGKILL" ? " The system may have run out of memory." : "";
      return `Something outside the worker ended the process by ${signal}.${hint}`;
    }
    case "stopped_by_agent":
      return "The worker's agent ended the process because the agent stops.";
    default: {
      const how = signal === null ? `exited with code ${exitCode}` : `was ended by ${signal}`;
      return `The process ${how} before the task ended.`;
    }
  }
}

function lastLines(text: string): string | null {
  const lines = text.trimEnd().split("\n").slice(-20).join("\n");
  return lines === "" ? null : `Last lines of stderr:\n${lines}`;
}

/** Infrastructure failed under what was to be done: it is worth doing again, and says nothing of anybody's code. */
export class InfrastructureError extends Error {
  override readonly name = "InfrastructureError";
}
