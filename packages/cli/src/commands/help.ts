import type { Command } from "commander";
import { usageError } from "../exit-codes.ts";
import { CLI_VERSION } from "../version.ts";
import type { Cli } from "../cli.ts";

const find = (parent: Command, name: string): Command | undefined =>
  parent.commands.find((command) => command.name() === name || command.aliases().includes(name));

export function addHelp(program: Command): void {
  program
    .command("help")
    .argument("[command...]", "such as `run list`")
    .description("Show help for a command")
    .addHelpText("after", "\nExample:\n  $ keelson help run list\n")
    .action((names: string[]) => {
      let at = program;
      for (const name of names) {
        const next = find(at, name);
        if (next === undefined)
          throw usageError(`There is no command ${names.join(" ")}: \`keelson help\` lists the commands`);
        at = next;
      }
      at.outputHelp();
    });
}

export function addVersion(parent: Command, cli: Cli): void {
  parent
    .command("version")
    .description("Print the version of this command")
    .addHelpText("after", "\nExample:\n  $ keelson version\n")
    .action(() => {
      if (cli.isJson()) cli.printJson({ version: CLI_VERSION });
      else cli.print(CLI_VERSION);
    });
}
