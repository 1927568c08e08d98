import type { Command } from "commander";
import { announceDeploy } from "../announce-deploy.ts";
import type { ChosenPlace } from "../chosen-place.ts";
import type { Cli } from "../cli.ts";
import { DEPLOY_TIMEOUT_MS, deployBundle } from "../deploy-bundle.ts";
import { projectFolder } from "../project/project-folder.ts";
import { parseMillisecondsOption } from "../parse-arguments.ts";

/** The place as it was chosen, so that the command can be repeated for it. */
const flagsOf = ({ project, environment }: ChosenPlace): string =>
  (project === null ? "" : ` --project ${project}`) +
  (environment === null ? "" : ` --environment ${environment}`);

type Options = { promote: boolean; timeout?: number; yes?: boolean; dryRun?: boolean };

export function addDeploy(parent: Command, cli: Cli): void {
  parent
    .command("deploy")
    .description("Bundle a project's tasks, deploy them and make them current")
    .argument("[directory]", "the project (default: the one that the current folder is in)")
    .option("--no-promote", "do not change the current deployment")
    .option("--dry-run", "show what would change, and deploy nothing")
    .option("-y, --yes", "do not ask before removing something in use")
    .option(
      "--timeout <duration>",
      "wait this long for a worker to load it (default 3m)",
      parseMillisecondsOption,
    )
    .addHelpText(
      "after",
      `\nkeelson.config.ts says which files declare tasks. Without one, those under src/tasks and tasks do.\nBefore a deploy removes a task, actor or schedule that has live runs, open sessions or active schedules, it asks; without a\nterminal it needs --yes.\n\nExample:\n  $ keelson deploy --no-promote\n`,
    )
    .action(
      async (directory: string | undefined, { promote, timeout, yes = false, dryRun = false }: Options) => {
        const client = await cli.client();
        const folder = projectFolder(cli.host.cwd, directory);
        const { buildBundle } = await import("../bundle/build-bundle.ts");
        const bundle = await buildBundle({ directory: folder });
        for (const warning of bundle.warnings) cli.notice(`warning: ${warning}`);
        const changes = await announceDeploy(cli, client, bundle, { promote, yes, dryRun });
        if (dryRun) {
          if (cli.isJson()) cli.printJson({ changes });
          return;
        }
        const options = {
          directory: folder,
          promote,
          timeoutMs: timeout ?? DEPLOY_TIMEOUT_MS,
          signal: cli.host.signal,
          progress: cli.notice,
        };
        const deployment = await deployBundle(client, bundle, options);
        if (cli.isJson()) cli.printJson(deployment);
        else
          cli.print(
            `${deployment.version} is ${promote ? "current" : `ready; promote it with: keelson promote ${deployment.version}${flagsOf(cli.place())}`}`,
          );
      },
    );
}
