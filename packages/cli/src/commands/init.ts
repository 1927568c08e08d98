import { createInterface } from "node:readline/promises";
import { resolve } from "node:path";
import { describePlan, nextSteps, planProject, writeProject } from "@keelson/create-keelson";
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { usageError } from "../exit-codes.ts";

async function isConfirmed({ host }: Cli): Promise<boolean> {
  const terminal = createInterface({ input: host.stdin, output: host.stderr });
  try {
    const answer = await terminal.question("Write these files? (Y/n) ", { signal: host.signal });
    return !/^n/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}

export function addInit(parent: Command, cli: Cli): void {
  parent
    .command("init")
    .description("Make a folder a Keelson project, with a first task and its test")
    .argument("[directory]", "a new folder, or an existing project", ".")
    .option("-y, --yes", "ask nothing")
    .addHelpText(
      "after",
      `
The command overwrites no file. package.json and .gitignore get the lines that they lack; everything else stays.

Examples:
  $ keelson init my-app --yes
  $ keelson init             # in a project with Next.js, Hono or Express, for instance
`,
    )
    .action(async (directory: string, { yes }: { yes?: true }) => {
      const { host, notice } = cli;
      const plan = readPlan(resolve(host.cwd, directory));
      notice(`${plan.directory}:\n${describePlan(plan)}`);
      const canAsk = host.stdin.isTTY && host.stderr.isTTY && !cli.isJson() && !host.env["CI"];
      if (yes !== true && canAsk && !(await isConfirmed(cli))) {
        notice("Nothing was written.");
        return;
      }
      writeProject(plan);
      if (cli.isJson())
        cli.printJson({
          directory: plan.directory,
          files: plan.files.map(({ name, action }) => ({ name, action })),
        });
      notice(`\nNext:\n${nextSteps(plan, false)}`);
    });
}

function readPlan(directory: string): ReturnType<typeof planProject> {
  try {
    return planProject(directory);
  } catch (error) {
    throw usageError((error as Error).message);
  }
}
