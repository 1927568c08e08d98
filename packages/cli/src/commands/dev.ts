import { ApiError, TimeoutError } from "@keelson/sdk";
import type { Command } from "commander";
import { BundleError } from "../bundle/bundle-error.ts";
import type { Bundle } from "../bundle/build-bundle.ts";
import type { Cli } from "../cli.ts";
import { DEPLOY_TIMEOUT_MS, deployBundle } from "../deploy-bundle.ts";
import type { Change } from "../deploy-plan.ts";
import { agreeToRemovals } from "../dev/agree-to-removals.ts";
import { createMistakes } from "../dev/mistakes.ts";
import { watchRuns } from "../dev/watch-runs.ts";
import { projectFolder } from "../project/project-folder.ts";
import { ExitError } from "../exit-codes.ts";

type Options = { runs: boolean; yes?: boolean };

/** What a person sees of a save at a glance: which tasks and actors came, went and are declared otherwise. */
const describeChange = (changes: readonly Change[]): string =>
  changes
    .filter(({ kind }) => kind === "task" || kind === "actor")
    .map(({ sign, id }) => `${sign}${id}`)
    .join(" ") || "code only";

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
      let deployed: { digest: string; version: string } | null = null;
      const mistakes = createMistakes(cli);
      const { watchBundle } = await import("../bundle/build-bundle.ts");

      async function onBuilt(built: Bundle | BundleError, superseded: AbortSignal): Promise<void> {
        if (built instanceof BundleError) {
          mistakes.tell(built.message);
          return;
        }
        for (const warning of built.warnings) cli.notice(`warning: ${warning}`);
        if (built.digest === deployed?.digest) {
          mistakes.repaired(deployed.version);
          return;
        }
        try {
          const { changes, refusal } = await agreeToRemovals(cli, client, built, { yes, superseded });
          if (refusal !== null) {
            mistakes.tell(refusal);
            return;
          }
          const begun = performance.now();
          const options = {
            directory: folder,
            promote: true,
            timeoutMs: DEPLOY_TIMEOUT_MS,
            signal,
            progress: () => undefined,
          };
          const deployment = await deployBundle(client, built, options);
          const change = describeChange(changes);
          deployed = { digest: built.digest, version: deployment.version };
          cli.print(
            cli.isJson()
              ? cli.wire.text(deployment)
              : `${deployment.version} is current (${change}) in ${Math.round(performance.now() - begun)} ms`,
          );
          mistakes.repaired(deployment.version);
        } catch (error) {
          // The next change may well be the remedy; a server that cannot be reached may come back.
          if (
            !(error instanceof ExitError || error instanceof ApiError || error instanceof TimeoutError) ||
            signal.aborted
          )
            throw error;
          mistakes.tell(error.message);
        }
      }

      cli.notice(`Watching ${folder}. Ctrl-C ends.`);
      const watching = watchBundle({ directory: folder }, onBuilt, signal);
      const showing = runs ? watchRuns(cli, { client, directory: folder, signal }) : Promise.resolve();
      await Promise.all([watching, showing]);
    });
}
