import { EXIT, ExitError } from "../exit-codes.ts";

type SystemError = { code?: string; syscall?: string; port?: number; path?: string };

/** What a system call's error means here, or null for others. */
function adviceFor({ code, syscall, port, path }: SystemError, message: string): string | null {
  const listens = syscall === "listen";
  switch (code) {
    case "EADDRINUSE":
      return `Port ${port} is taken: stop what uses it, or set PORT to another`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return listens || syscall === "getaddrinfo"
        ? `HOST or DATABASE_URL names what cannot be found from here: ${message}`
        : null;
    case "EACCES":
    case "EPERM":
    case "EROFS":
    case "ENOTDIR":
      return listens
        ? `Port ${port} needs more rights than this account has: set PORT to one above 1023`
        : `Cannot write to ${path}: make it writable, or set KEELSON_DATA_DIR to another folder`;
    case "ENOSPC":
    case "EDQUOT":
      return `The disk of ${path ?? "the data folder"} is full: make room, or set KEELSON_DATA_DIR to a folder on another disk`;
    case "ECONNREFUSED":
    case "ETIMEDOUT":
    case "EHOSTUNREACH":
      return `Cannot reach the database of DATABASE_URL: ${message}`;
    default:
      return null;
  }
}

/** What keeps a part from starting in one line that says what to do. A mistake of ours keeps its stack. */
export function describeStartFailure(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof ExitError || error.name === "ConfigError") return error;
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  const cause = first instanceof Error ? first : error;
  const advice = adviceFor(cause as SystemError, cause.message);
  if (advice !== null) return new ExitError(EXIT.failure, advice, { cause: error });
  // The parts refuse with plain errors whose message is for people; these classes are what code that is wrong throws.
  const isMistake =
    error instanceof TypeError || error instanceof ReferenceError || error instanceof SyntaxError;
  return isMistake ? error : new ExitError(EXIT.failure, error.message, { cause: error });
}
