import { NotFoundError, type Client } from "@keelson/sdk";
import type { BundledCode } from "../bundle/build-bundle.ts";
import { deployBundle } from "../deploy-bundle.ts";

const CHECK_TIMEOUT_MS = 60_000;

/** Deploys the examples' bundle unless it is what is current. Gives the current version. */
export async function deployExamples(
  client: Client,
  bundled: BundledCode,
  directory: string,
  signal: AbortSignal,
  progress: (text: string) => void,
): Promise<string> {
  const current = await client.deployments.current({ signal }).catch((error: unknown) => {
    if (error instanceof NotFoundError) return null;
    throw error;
  });
  if (current?.bundle.digest === bundled.digest) return current.version;
  const { readManifest } = await import("../bundle/read-manifest.ts");
  const bundle = { ...bundled, manifest: await readManifest(bundled.code) };
  const deployment = await deployBundle(client, bundle, {
    directory,
    promote: true,
    timeoutMs: CHECK_TIMEOUT_MS,
    signal,
    progress,
  });
  return deployment.version;
}
