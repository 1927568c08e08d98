import { createInterface } from "node:readline/promises";
import type { Cli } from "./cli.ts";
import { EXIT, ExitError, usageError } from "./exit-codes.ts";

export const isAtTerminal = ({ host: { stdin, stderr } }: Cli): boolean => stdin.isTTY && stderr.isTTY;

/**
 * Asks a person a question to answer with yes or no; anything but a yes is a no.
 * @param what the question without its question mark, such as "Cancel 3 runs"
 * @throws AbortError when the signal ends the question
 */
export async function ask(cli: Cli, what: string, signal: AbortSignal): Promise<boolean> {
  const { stdin, stderr } = cli.host;
  const lines = createInterface({ input: stdin, output: stderr });
  // At a question the terminal hands Ctrl-C to us instead of making a signal of it.
  lines.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
  try {
    const answer = await lines.question(`${what}? [y/N] `, { signal });
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}

/**
 * Asks a person before something that cannot be undone. Without a terminal nobody can answer, so `--yes` is needed.
 * @param what the question without its question mark, such as "Cancel 3 runs"
 */
export async function confirm(cli: Cli, what: string, yes: boolean): Promise<void> {
  if (yes) return;
  if (!isAtTerminal(cli) || cli.isJson())
    throw usageError(`${what}? Nobody can answer without a terminal: add --yes to go on`);
  if (!(await ask(cli, what, cli.host.signal))) throw new ExitError(EXIT.failure, "Nothing was changed");
}
