import type { Client, Deployment } from "@keelson/sdk";
import { EXIT, ExitError } from "./exit-codes.ts";

const absent = (version: string): ExitError =>
  new ExitError(
    EXIT.notFound,
    `There is no deployment ${version} in this environment: \`keelson deployment list\` shows them; old ones are dropped (KEELSON_KEEP_DEPLOYMENTS)`,
  );

/** A deployment by its id, by the version that is printed everywhere, or as `current`. */
export async function findDeployment(client: Client, name: string, signal: AbortSignal): Promise<Deployment> {
  if (name === "current") return client.deployments.current({ signal });
  if (name.startsWith("dep_")) return client.deployments.get(name, { signal });
  for await (const deployment of client.deployments.list({ limit: 200 }, { signal }))
    if (deployment.version === name) return deployment;
  throw absent(name);
}

/** The deployment that was current last before the one that is. */
export async function findPrevious(client: Client, signal: AbortSignal): Promise<Deployment> {
  let previous: Deployment | null = null;
  let latest = "";
  for await (const deployment of client.deployments.list({ limit: 200 }, { signal })) {
    const { isCurrent, promotedAt } = deployment;
    if (isCurrent || promotedAt === null || promotedAt <= latest) continue;
    latest = promotedAt;
    previous = deployment;
  }
  if (previous !== null) return previous;
  throw new ExitError(
    EXIT.notFound,
    "No earlier deployment was current here, so there is nothing to roll back to: `keelson deployment list` shows all",
  );
}
