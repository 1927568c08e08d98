import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { createSaves } from "../dev/deploy-saves.ts";
import { watchRuns } from "../dev/watch-runs.ts";
import { projectFolder } from "../project/project-folder.ts";

type Options = { runs: boolean; yes?: boolean };

export function addDev(parent: Command, cli: Cli): void {
  parent
    .command("dev")
    .description("Deploy a project's tasks at each change of their code, and show their runs")
    .argument("[directory]", "the project (default: the one that the current folder is in)")
    .option("--no-runs", "show deployments, not runs")
    .option("-y, --yes", "do not ask before removing something in use")
    .addHelpText(
      "after",
      "\nEach run is shown as it happens: attempts, steps, retries, output, and the file and line of a failure.\nBefore a save removes a task, actor or schedule that has live runs, open sessions or active schedules, it asks; without a\nterminal it deploys such a save only with --yes.\n\nExample:\n  $ keelson up &      # in one terminal\n  $ keelson dev       # in the project's folder\n",
    )
    .action(async (directory: string | undefined, { runs, yes = false }: Options) => {
      const client = await cli.client();
      const folder = projectFolder(cli.host.cwd, directory);
      const { signal } = cli.host;
      const { watchBundle } = await import("../bundle/build-bundle.ts");
      const onBuilt = createSaves(cli, { client, directory: folder, yes, signal });
      cli.notice(`Watching ${folder}. Ctrl-C ends.`);
      const watching = watchBundle({ directory: folder }, onBuilt, signal);
      const showing = runs ? watchRuns(cli, { client, directory: folder, signal }) : Promise.resolve();
      await Promise.all([watching, showing]);
    });
}
