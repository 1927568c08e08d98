import { LIMITS, parseDuration } from "@keelson/contract";
import { checkPath, TreeError } from "@keelson/workspace-tree";
import { DomainError, invalidRequest } from "../../domain-error.ts";

/** What a request for a process says, checked beyond its schema. */

export const MAX_TIMEOUT_MS = 7 * 86_400_000;

/** Strict: what is not base64 is refused, not skipped. */
export function decodeBase64(path: string, text: string): Buffer {
  const bytes = Buffer.from(text, "base64");
  if (bytes.toString("base64").replace(/=+$/, "") === text.replace(/=+$/, "")) return bytes;
  throw invalidRequest([{ path, message: "must be base64" }]);
}

/** A command as it is stored. */
export function commandText(command: readonly string[]): string {
  const bytes = command.reduce((sum, item) => sum + Buffer.byteLength(item) + 1, 0);
  if (bytes > LIMITS.argvBytes)
    throw invalidRequest([{ path: "command", message: `may have ${LIMITS.argvBytes} bytes at most` }]);
  if (command[0] === "") throw invalidRequest([{ path: "command.0", message: "must name a program" }]);
  return JSON.stringify(command);
}

export function processTimeoutMs(
  text: string | undefined,
  maximumMs: number = MAX_TIMEOUT_MS,
): number | null {
  if (text === undefined) return null;
  const ms = parseDuration(text);
  if (ms !== null && ms > 0 && ms <= maximumMs) return ms;
  throw invalidRequest([{ path: "timeout", message: `must be from 1ms to ${maximumMs / 1000}s` }]);
}

/** @throws DomainError `invalid_path` for a folder that is no path of a workspace. */
export function checkCwd(cwd: string): string {
  try {
    checkPath(cwd);
  } catch (cause) {
    if (!(cause instanceof TreeError)) throw cause;
    throw new DomainError("invalid_path", `cwd: ${cause.message}`, null, { cause });
  }
  return cwd;
}
