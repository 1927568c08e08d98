import type { Deployment } from "@keelson/sdk";
import type { Cli } from "./cli.ts";

export function reportPromoted(cli: Cli, deployment: Deployment): void {
  if (cli.isJson()) cli.printJson(deployment);
  else cli.print(`${deployment.version} is current`);
}
