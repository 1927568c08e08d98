import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { buffer } from "node:stream/consumers";
import type { Cli } from "./cli.ts";
import { usageError } from "./exit-codes.ts";

/** The bytes of a file here; of `-`, those of standard input. */
export async function readSource(cli: Cli, source: string): Promise<Uint8Array> {
  if (source === "-") return buffer(cli.host.stdin);
  try {
    return await readFile(resolve(cli.host.cwd, source));
  } catch (error) {
    throw usageError(`Cannot read ${source}: ${(error as Error).message}`);
  }
}
