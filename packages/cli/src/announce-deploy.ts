import type { DeploymentManifest } from "@keelson/contract";
import { NotFoundError, PermissionError, type Client, type Deployment } from "@keelson/sdk";
import type { Bundle } from "./bundle/build-bundle.ts";
import { paint, type Cli } from "./cli.ts";
import { confirm } from "./confirm.ts";
import { declaredSecrets, describePlanned, listIsolated, planDeploy, type Change } from "./deploy-plan.ts";
import { findRemovalRisks } from "./find-removal-risks.ts";

export const findCurrent = (client: Client, signal: AbortSignal): Promise<Deployment | null> =>
  client.deployments.current({ signal }).catch((error: unknown) => {
    if (error instanceof NotFoundError) return null;
    throw error;
  });

/** Names that the code declares and the environment lacks; null when the key may not look. */
async function findMissingSecrets(
  client: Client,
  declared: ReadonlyMap<string, string>,
  signal: AbortSignal,
): Promise<string[] | null> {
  if (declared.size === 0) return [];
  const there = new Set<string>();
  try {
    for await (const { name, status } of client.secrets.list({ limit: 200 }, { signal }))
      if (status === "active") there.add(name);
  } catch (error) {
    if (error instanceof PermissionError) return null;
    throw error;
  }
  return [...declared.keys()].filter((name) => !there.has(name));
}

async function warnOfSecrets(cli: Cli, client: Client, manifest: DeploymentManifest): Promise<void> {
  const declared = declaredSecrets(manifest);
  const missing = await findMissingSecrets(client, declared, cli.host.signal);
  if (missing === null)
    cli.notice("warning: This key may not read secrets, so whether all declared ones are there is not known");
  for (const name of missing ?? [])
    cli.notice(
      `warning: The environment has no secret ${name}, which ${declared.get(name)} declares: its runs fail until \`keelson secret set ${name}\``,
    );
}

const STYLES = { "+": "green", "~": "yellow", "-": "red" } as const;

export function printPlan(cli: Cli, changes: readonly Change[], risks: ReadonlyMap<Change, string>): void {
  for (const change of changes)
    cli.notice(
      paint(cli.host.stderr, STYLES[change.sign], describePlanned(change, risks.get(change) ?? null)),
    );
}

/** The question before what is in use is removed, without its question mark. */
export const removalOf = (risks: ReadonlyMap<Change, string>): string =>
  `Remove ${[...risks.keys()].map(({ kind, id }) => `${kind} ${id}`).join(", ")} from the current deployment`;

/** `in_use`: what a removal takes away; null for any other change, and for what nobody uses. */
export type PlannedChange = Change & { in_use: string | null };

export type Announced = { promote: boolean; yes: boolean; dryRun: boolean };

/**
 * Says what a deploy adds, changes and removes, and which secrets are missing. Before it takes away what has live runs,
 * open sessions or active schedules, a person has to agree.
 *
 * @returns what changes.
 */
export async function announceDeploy(
  cli: Cli,
  client: Client,
  bundle: Bundle,
  { promote, yes, dryRun }: Announced,
): Promise<PlannedChange[]> {
  const { signal } = cli.host;
  const current = await findCurrent(client, signal);
  const changes = planDeploy(cli.wire.of(current) as DeploymentManifest | null, bundle.manifest);
  const risks = await findRemovalRisks(client, changes, signal);
  if (changes.length > 0) printPlan(cli, changes, risks);
  else if (current?.bundle.digest === bundle.digest) cli.notice("Nothing changes: this code is current");
  else cli.notice("Only code changes: every declaration stays as it is");
  await warnOfSecrets(cli, client, bundle.manifest);
  const isolated = listIsolated(bundle.manifest);
  if (isolated.length > 0)
    cli.notice(
      `Only workers with the namespace tier for tasks run ${isolated.join(", ")}; \`keelson worker list\` shows which have it`,
    );
  if (promote && !dryRun && risks.size > 0) await confirm(cli, removalOf(risks), yes);
  return changes.map((change) => ({ ...change, in_use: risks.get(change) ?? null }));
}
