import { NotFoundError, type Client, type Deployment } from "@keelson/sdk";
import type { BundledCode } from "../bundle/build-bundle.ts";
import { deployBundle } from "../deploy-bundle.ts";

const CHECK_TIMEOUT_MS = 180_000;

type Declared = { tasks: readonly { id: string }[]; actors?: readonly { id: string }[] };

const idsOf = ({ tasks, actors = [] }: Declared): string[] => [...tasks, ...actors].map(({ id }) => id);

/** What is current; null before the first deployment. */
export async function findCurrentDeployment(client: Client, signal: AbortSignal): Promise<Deployment | null> {
  return client.deployments.current({ signal }).catch((error: unknown) => {
    if (error instanceof NotFoundError) return null;
    throw error;
  });
}

/**
 * Deploys the examples' bundle unless it is what is current, or something of the user's own is: that stays. Gives what is
 * current then.
 */
export async function deployExamples(
  client: Client,
  bundled: BundledCode,
  directory: string,
  signal: AbortSignal,
  progress: (text: string) => void,
): Promise<Deployment> {
  const current = await findCurrentDeployment(client, signal);
  if (current?.bundle.digest === bundled.digest) return current;
  const { readManifest } = await import("../bundle/read-manifest.ts");
  const bundle = { ...bundled, manifest: await readManifest(bundled) };
  const examples = new Set(idsOf(bundle.manifest));
  if (current !== null && !idsOf(current).every((id) => examples.has(id))) {
    progress(`Deployment ${current.version} stays: it is not of the examples`);
    return current;
  }
  return deployBundle(client, bundle, {
    directory,
    promote: true,
    timeoutMs: CHECK_TIMEOUT_MS,
    signal,
    progress,
  });
}
