import { UsageError } from "./keelson-error.ts";

/** Throws a UsageError for a command that is one text: its characters would be taken for arguments. */
export function checkCommand(command: readonly string[], what: string): void {
  if (Array.isArray(command) && command.length > 0) return;
  throw new UsageError(
    `${what} takes a list of the program and its arguments, such as ["sh", "-c", "ls -la | wc -l"]`,
  );
}
