import { existsSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { resolve } from "node:path";
import type { Cli } from "./cli.ts";
import { EXIT, ExitError, usageError } from "./exit-codes.ts";

/** Refused before anything is sent. */
export function checkIsNew(cli: Cli, target: string): void {
  if (existsSync(resolve(cli.host.cwd, target)))
    throw usageError(`${target} exists, and is not overwritten. Remove it first, or name another file.`);
}

/** Writes a file that did not exist; of one that could not be written whole, nothing stays. */
export async function writeNewFile(cli: Cli, target: string, bytes: Uint8Array): Promise<void> {
  const path = resolve(cli.host.cwd, target);
  const refusal = (error: unknown): ExitError =>
    new ExitError(EXIT.failure, `Cannot write ${target}: ${(error as Error).message}`, { cause: error });
  const file = await open(path, "wx").catch((error: unknown) => {
    throw refusal(error);
  });
  try {
    await file.writeFile(bytes);
    await file.close();
  } catch (error) {
    await file.close().catch(() => undefined);
    await rm(path, { force: true });
    throw refusal(error);
  }
}
