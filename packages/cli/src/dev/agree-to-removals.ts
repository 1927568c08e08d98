import type { DeploymentManifest } from "@keelson/contract";
import type { Client } from "@keelson/sdk";
import { findCurrent, printPlan, removalOf } from "../announce-deploy.ts";
import type { Bundle } from "../bundle/build-bundle.ts";
import type { Cli } from "../cli.ts";
import { ask, isAtTerminal } from "../confirm.ts";
import { planDeploy, type Change } from "../deploy-plan.ts";
import { findRemovalRisks } from "../find-removal-risks.ts";

export type Agreement = {
  /** Given on the command line: nobody is asked. */
  yes: boolean;
  /** Ends the question when a newer save makes it pointless. */
  superseded: AbortSignal;
};

/**
 * Whether a save may be deployed: a save that removes something with live runs, open sessions or active schedules needs a
 * person's yes. Says what it removes.
 *
 * @returns what it changes, and why it is not deployed: null when it may be
 */
export async function agreeToRemovals(
  cli: Cli,
  client: Client,
  bundle: Bundle,
  { yes, superseded }: Agreement,
): Promise<{ changes: Change[]; refusal: string | null }> {
  const { signal } = cli.host;
  const changes = planDeploy(
    cli.wire.of(await findCurrent(client, signal)) as DeploymentManifest | null,
    bundle.manifest,
  );
  const risks = await findRemovalRisks(client, changes, signal);
  const refused = (refusal: string) => ({ changes, refusal });
  if (risks.size === 0) return { changes, refusal: null };
  cli.notice("warning: This save removes what is in use:");
  printPlan(cli, [...risks.keys()], risks);
  if (yes) return { changes, refusal: null };
  const kept = "Not deployed: the current deployment keeps them";
  if (!isAtTerminal(cli) || cli.isJson())
    return refused(`${kept}. To remove them, run \`keelson deploy --yes\` or start \`keelson dev --yes\``);
  try {
    if (await ask(cli, removalOf(risks), AbortSignal.any([signal, superseded])))
      return { changes, refusal: null };
  } catch (error) {
    if (signal.aborted || !superseded.aborted) throw error;
    return refused("Not deployed: there is a newer save");
  }
  return refused(`${kept}. Put their code back, or save again and answer yes`);
}
