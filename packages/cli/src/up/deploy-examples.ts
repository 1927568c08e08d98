import { NotFoundError, type Client, type Deployment } from "@keelson/sdk";
import type { BundledCode } from "../bundle/build-bundle.ts";
import { deployBundle } from "../deploy-bundle.ts";

const CHECK_TIMEOUT_MS = 60_000;

/** Deploys the examples' bundle unless it is what is current. Gives what is current then. */
export async function deployExamples(
  client: Client,
  bundled: BundledCode,
  directory: string,
  signal: AbortSignal,
  progress: (text: string) => void,
): Promise<Deployment> {
  const current = await client.deployments.current({ signal }).catch((error: unknown) => {
    if (error instanceof NotFoundError) return null;
    throw error;
  });
  if (current?.bundle.digest === bundled.digest) return current;
  const { readManifest } = await import("../bundle/read-manifest.ts");
  const bundle = { ...bundled, manifest: await readManifest(bundled.code) };
  return deployBundle(client, bundle, {
    directory,
    promote: true,
    timeoutMs: CHECK_TIMEOUT_MS,
    signal,
    progress,
  });
}
