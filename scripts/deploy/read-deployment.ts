// The files an operator deploys with, as data: what can be known of them without Docker and Helm.

import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { AGENT_SETTINGS } from "../../packages/agent/src/settings.ts";
import { SETTINGS } from "../../packages/server/src/settings.ts";

export const root = path.resolve(import.meta.dirname, "../..");

// What is read is looked into freely.
// oxlint-disable-next-line typescript/no-explicit-any
export type Data = any;

export const readText = (file: string): string => readFileSync(path.join(root, file), "utf8");
export const readYaml = (file: string): Data => parse(readText(file), { merge: true });

type Setting = { name: string; secret?: true };
const namesOf = (settings: Record<string, Setting>): string[] =>
  Object.values(settings).flatMap(({ name, secret }) => (secret === true ? [name, `${name}_FILE`] : [name]));

/** The variables that a role reads. */
export const KNOWN_VARIABLES = {
  serve: new Set(namesOf(SETTINGS)),
  agent: new Set(namesOf(AGENT_SETTINGS)),
};

export const isCommand = (name: string): boolean =>
  existsSync(path.join(root, `packages/cli/src/commands/${name}.ts`));

/** `[instruction, argument]` of a Dockerfile, continuations joined and comments left out. */
export function readDockerfile(): [string, string][] {
  const text = readText("Dockerfile")
    .replaceAll(/^\s*#.*\n/gm, "")
    .replaceAll(/\\\n\s*/g, "");
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => [line.split(" ", 1)[0] as string, line.slice(line.indexOf(" ") + 1).trim()]);
}
