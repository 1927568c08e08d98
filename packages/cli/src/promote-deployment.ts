import type { DeploymentManifest } from "@keelson/contract";
import type { Client, Deployment } from "@keelson/sdk";
import { findCurrent, printPlan, removalOf } from "./announce-deploy.ts";
import type { Cli } from "./cli.ts";
import { confirm } from "./confirm.ts";
import { planDeploy } from "./deploy-plan.ts";
import { findRemovalRisks } from "./find-removal-risks.ts";

/** Says what comes and goes. Before the promotion takes away what is in use, a person has to agree. */
async function announcePromotion(
  cli: Cli,
  client: Client,
  deployment: Deployment,
  yes: boolean,
): Promise<void> {
  const { signal } = cli.host;
  const current = await findCurrent(client, signal);
  if (current?.id === deployment.id) {
    cli.notice("Nothing changes: this deployment is current already");
    return;
  }
  const changes = planDeploy(
    cli.wire.of(current) as DeploymentManifest | null,
    cli.wire.of(deployment) as DeploymentManifest,
  );
  const risks = await findRemovalRisks(client, changes, signal);
  if (changes.length > 0) printPlan(cli, changes, risks);
  else cli.notice("Only code changes: every declaration stays as it is");
  if (risks.size > 0) await confirm(cli, removalOf(risks), yes);
}

/** What `promote` and `rollback` do with a deployment that was found. */
export async function promoteDeployment(
  cli: Cli,
  client: Client,
  deployment: Deployment,
  { yes = false }: { yes?: boolean },
): Promise<void> {
  // The server refuses any other: nobody is asked about it.
  if (deployment.status === "ready") await announcePromotion(cli, client, deployment, yes);
  const promoted = await client.deployments.promote(deployment.id, { signal: cli.host.signal });
  if (cli.isJson()) cli.printJson(promoted);
  else cli.print(`${promoted.version} is current`);
}
