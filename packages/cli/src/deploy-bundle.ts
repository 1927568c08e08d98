import { TimeoutError, type Client, type Deployment } from "@keelson/sdk";
import type { Bundle } from "./bundle/build-bundle.ts";
import { EXIT, ExitError } from "./exit-codes.ts";
import { explainRefusal } from "./refused-manifest.ts";
import { readGit } from "./read-git.ts";
import { createWithUploads } from "./upload-archive.ts";

/** Of a check, when nobody says otherwise. */
export const DEPLOY_TIMEOUT_MS = 180_000;

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

const unchecked = ({ version }: Deployment, timeoutMs: number): string =>
  `No worker has loaded deployment ${version} after ${timeoutMs / 1000} s; it stays pending. Start a worker with \`keelson up\` or \`keelson agent\`. When \`keelson deployment get ${version}\` shows it ready, make it current: \`keelson promote ${version}\``;

async function waitUntilChecked(
  { deployments }: Client,
  created: Deployment,
  { timeoutMs, signal }: DeployOptions,
): Promise<Deployment> {
  try {
    return await deployments.waitUntilChecked(created.id, { timeout: timeoutMs, signal });
  } catch (error) {
    // One with a cause is of a request: nothing is known of the worker.
    if (!(error instanceof TimeoutError) || error.cause !== undefined) throw error;
    throw new ExitError(EXIT.timeout, unchecked(created, timeoutMs), { cause: error });
  }
}

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
  const created = await createWithUploads(client, bundle, await readGit(directory), options).catch(
    (error: unknown) => {
      throw explainRefusal(error, bundle.manifest);
    },
  );
  progress(`Deployment ${created.version}: a worker is loading it`);
  const checked = await waitUntilChecked(client, created, options);
  if (checked.status === "failed") throw new ExitError(EXIT.failure, refusal(checked));
  if (!options.promote) return checked;
  return deployments.promote(checked.id, { signal });
}
