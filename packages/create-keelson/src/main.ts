#!/usr/bin/env node
// `npm create keelson <directory>`.

import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";
import { describePlan, nextSteps, planProject, writeProject } from "./index.ts";

const USAGE = `Usage: npm create keelson <directory> [-- --yes --no-install]

Makes a Keelson project with a first task and its test. Overwrites nothing.

  -y, --yes      ask nothing
  --no-install   write the files, install nothing
  -h, --help     show this
`;

const say = (text: string): void => void process.stderr.write(`${text}\n`);

async function ask(question: string, byDefault: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return (await terminal.question(`${question} (${byDefault}) `)).trim() || byDefault;
  } finally {
    terminal.close();
  }
}

/** npm, pnpm, yarn or bun: whichever ran this. */
const packageManager = (): string =>
  /^(pnpm|yarn|bun)\//.exec(process.env["npm_config_user_agent"] ?? "")?.[1] ?? "npm";

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      yes: { type: "boolean", short: "y" },
      "no-install": { type: "boolean" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const canAsk = process.stdin.isTTY && !values.yes && !process.env["CI"];
  const given = positionals[0] ?? (canAsk ? await ask("In which folder?", "my-app") : undefined);
  if (given === undefined || positionals.length > 1) {
    say(given === undefined ? `The directory is missing.\n\n${USAGE}` : `Too many directories.\n\n${USAGE}`);
    return 2;
  }
  const directory = path.resolve(given);
  mkdirSync(directory, { recursive: true });
  const plan = planProject(directory);
  writeProject(plan);
  say(`${directory}:\n${describePlan(plan)}\n`);
  const manager = packageManager();
  const isInstalled = values["no-install"] !== true;
  if (isInstalled) {
    say(`Installing the dependencies with ${manager} …`);
    const { status, error } = spawnSync(manager, ["install"], { cwd: directory, stdio: ["ignore", 2, 2] });
    if (error || status !== 0) {
      say(
        `${manager} install failed${error ? `: ${error.message}` : ""}. The files are written; install again in ${directory}.`,
      );
      return 1;
    }
  }
  const here = path.relative(process.cwd(), directory) || ".";
  say(`\nNext:\n  cd ${here}\n${nextSteps(plan, isInstalled, manager)}`);
  return 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  say((error as Error).message);
  const isUsage = String((error as NodeJS.ErrnoException).code).startsWith("ERR_PARSE_ARGS");
  process.exitCode = isUsage ? 2 : 1;
}
