import { resolve } from "node:path";
import { KeelsonError, TimeoutError } from "@keelson/sdk";
import type { Command } from "commander";
import type { DeploymentManifest } from "@keelson/contract";
import { BundleError } from "../bundle/bundle-error.ts";
import type { Bundle } from "../bundle/build-bundle.ts";
import { paint, type Cli } from "../cli.ts";
import { deployBundle } from "../deploy-bundle.ts";
import { describeChange } from "../describe-change.ts";
import { ExitError } from "../exit-codes.ts";

const DEPLOY_TIMEOUT_MS = 30_000;

export function addDev(parent: Command, cli: Cli): void {
  parent
    .command("dev")
    .description("Deploy a project's tasks now and after each change of their code")
    .argument("[directory]", "the project", ".")
    .addHelpText(
      "after",
      "\nExample:\n  $ keelson up &      # in one terminal\n  $ keelson dev       # in the project's folder\n",
    )
    .action(async (directory: string) => {
      const client = cli.client();
      const folder = resolve(cli.host.cwd, directory);
      const { stderr, signal } = cli.host;
      let deployed: { digest: string; manifest: DeploymentManifest } | null = null;
      const { watchBundle } = await import("../bundle/build-bundle.ts");

      async function onBuilt(built: Bundle | BundleError): Promise<void> {
        if (built instanceof BundleError) {
          cli.notice(`${paint(stderr, "red", "✗")} ${built.message}`);
          return;
        }
        for (const warning of built.warnings) cli.notice(`warning: ${warning}`);
        if (built.digest === deployed?.digest) return;
        const begun = performance.now();
        try {
          const options = {
            directory: folder,
            promote: true,
            timeoutMs: DEPLOY_TIMEOUT_MS,
            signal,
            progress: () => undefined,
          };
          const deployment = await deployBundle(client, built, options);
          const change = describeChange(deployed?.manifest ?? null, built.manifest);
          deployed = built;
          cli.print(
            cli.isJson()
              ? JSON.stringify(deployment)
              : `${deployment.version} is current (${change}) in ${Math.round(performance.now() - begun)} ms`,
          );
        } catch (error) {
          // The next change may well be the remedy; a server that cannot be reached may come back.
          if (
            !(error instanceof ExitError || error instanceof KeelsonError || error instanceof TimeoutError) ||
            signal.aborted
          )
            throw error;
          cli.notice(`${paint(stderr, "red", "✗")} ${error.message}`);
        }
      }

      cli.notice(`Watching ${folder}. Ctrl-C ends.`);
      await watchBundle({ directory: folder }, onBuilt, signal);
    });
}
