import { ConnectionError, ApiError, TimeoutError } from "@keelson/sdk";
import { CommanderError } from "commander";

export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  notAllowed: 3,
  notFound: 4,
  conflict: 5,
  unavailable: 6,
  runFailed: 7,
  /** A bad setting; sysexits' EX_CONFIG. */
  configuration: 78,
  timeout: 124,
  interrupted: 130,
} as const;

/** What each code says, for the reference. */
export const EXIT_MEANINGS: Record<keyof typeof EXIT, string> = {
  ok: "done",
  failure: "failed",
  usage: "what was typed cannot be used; nothing was sent",
  notAllowed: "not allowed (401, 403)",
  notFound: "not found (404)",
  conflict:
    "conflict (409, 410): another idempotent body, a token completed with other data, an ended session",
  unavailable: "the server cannot be reached, or is busy (429, 502, 503, 504), or its disk is full (507)",
  runFailed: "the run that was waited for did not succeed; the command of `workspace exec` did not run",
  configuration: "a setting of the server cannot be used",
  timeout: "it took longer than `--timeout`",
  interrupted: "interrupted",
};

/** Ends the command with a code; without a message nothing more is written. */
export class ExitError extends Error {
  override readonly name = "ExitError";
  readonly exitCode: number;

  constructor(exitCode: number, message = "", options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/** What was typed cannot be used. */
export const usageError = (message: string): ExitError => new ExitError(EXIT.usage, message);

/** The command was ended by Ctrl-C or SIGTERM. */
export const interruption = (name: NodeJS.Signals = "SIGINT"): ExitError =>
  new ExitError(EXIT.interrupted, "", { cause: name });

export function exitCodeOf(error: unknown): number {
  if (error instanceof ExitError) return error.exitCode;
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (error instanceof TimeoutError) return EXIT.timeout;
  if (error instanceof ConnectionError) return EXIT.unavailable;
  if (error instanceof Error && error.name === "ConfigError") return EXIT.configuration;
  if (!(error instanceof ApiError)) return EXIT.failure;
  switch (error.status) {
    case 401:
    case 403:
      return EXIT.notAllowed;
    case 404:
      return EXIT.notFound;
    case 409:
    case 410:
      return EXIT.conflict;
    case 429:
    case 502:
    case 503:
    case 504:
    case 507:
      return EXIT.unavailable;
    default:
      return EXIT.failure;
  }
}
