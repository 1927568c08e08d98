import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import type { Cli } from "./cli.ts";
import { usageError } from "./exit-codes.ts";

/** A file's text; `-` is standard input. */
async function readSource(cli: Cli, path: string): Promise<string> {
  if (path === "-") return text(cli.host.stdin);
  try {
    return await readFile(resolve(cli.host.cwd, path), "utf8");
  } catch (error) {
    throw usageError(`Cannot read ${path}: ${(error as Error).message}`);
  }
}

/** Where a command's JSON may have been given. */
export type JsonSource = {
  /** What it is and the option it is given by, as in `--payload` and `--payload-file`. */
  name: string;
  /** How the option for a file is written. */
  fileOption: string;
  /** The argument, which can only be `-`. */
  argument: string | undefined;
  json: string | undefined;
  file: string | undefined;
};

/** The value, or undefined when it was not given. What was given twice or is no JSON is a usage error. */
export async function readJson(cli: Cli, source: JsonSource): Promise<unknown> {
  const { name, fileOption, argument, json, file } = source;
  const given = [argument, json, file].filter((value) => value !== undefined);
  if (given.length > 1)
    throw usageError(`Give the ${name} once: by --${name}, by --${fileOption}, or by - for standard input`);
  if (argument !== undefined && argument !== "-")
    throw usageError(`Unexpected "${argument}"; the ${name} is given by --${name} '${argument}'`);
  if (given.length === 0) return undefined;
  const written = json !== undefined && json !== "-" ? json : await readSource(cli, given[0] as string);
  try {
    return JSON.parse(written);
  } catch (error) {
    throw usageError(`The ${name} is not JSON: ${(error as Error).message}`);
  }
}
