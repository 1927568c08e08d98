import type { Client, Deployment } from "@keelson/sdk";
import type { Bundle } from "./bundle/build-bundle.ts";
import { EXIT, ExitError } from "./exit-codes.ts";
import { readGit } from "./read-git.ts";
import { createWithUploads } from "./upload-archive.ts";

export type DeployOptions = {
  directory: string;
  promote: boolean;
  timeoutMs: number;
  signal: AbortSignal;
  /** Told what is done next. */
  progress: (text: string) => void;
};

/** The dry boot's verdict, for the person whose code it is. */
const refusal = ({ version, error }: Deployment): string =>
  `Deployment ${version} cannot be loaded by a worker: ${error?.message ?? "no reason was given"}${error?.stack ? `\n${error.stack}` : ""}`;

/**
 * Uploads a bundle, makes a deployment of it, waits until a worker has loaded it, and makes it current.
 * Throws an ExitError with the reason when it cannot be loaded; what was current stays so.
 */
export async function deployBundle(
  client: Client,
  bundle: Bundle,
  options: DeployOptions,
): Promise<Deployment> {
  const { directory, signal, progress } = options;
  const { deployments } = client;
  const created = await createWithUploads(client, bundle, await readGit(directory), options);
  progress(`Deployment ${created.version}: a worker is loading it`);
  const checked = await deployments.waitUntilChecked(created.id, { timeout: options.timeoutMs, signal });
  if (checked.status === "failed") throw new ExitError(EXIT.failure, refusal(checked));
  if (!options.promote) return checked;
  return deployments.promote(checked.id, { signal });
}
