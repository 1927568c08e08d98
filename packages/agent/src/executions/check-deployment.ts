import type { DeploymentCheck, DeploymentChecked } from "@keelson/contract";
import { BUNDLE_FORMAT_VERSION } from "@keelson/contract";
import type { BundleCache } from "../bundles/bundle-cache.ts";
import { describeDeath } from "../task-hosts/describe-death.ts";
import type { HostPool } from "../task-hosts/host-pool.ts";
import { HostBootError } from "../task-hosts/host-run.ts";

const MESSAGE_CHARACTERS = 8192;
const STACK_CHARACTERS = 65_536;

/**
 * Boots a deployment's bundle without running anything of it. Throws when this worker could not even try (no download,
 * no process): then nothing is known about the bundle.
 */
export async function checkDeployment(
  check: DeploymentCheck,
  bundles: BundleCache,
  hosts: HostPool,
): Promise<DeploymentChecked> {
  const { deployment_id, check_id, bundle_digest: digest } = check;
  const fail = (message: string, stack: string | null): DeploymentChecked => ({
    deployment_id,
    check_id,
    status: "failed",
    error: {
      message: message.slice(0, MESSAGE_CHARACTERS),
      stack: stack === null ? null : stack.slice(0, STACK_CHARACTERS),
    },
  });
  if (check.bundle_format_version !== BUNDLE_FORMAT_VERSION) {
    return fail(
      `The bundle has format version ${check.bundle_format_version}; this worker runs version ${BUNDLE_FORMAT_VERSION}.`,
      null,
    );
  }
  const bundlePath = await bundles.ensure(digest);
  try {
    const entrypoints = await hosts.check({ digest, bundlePath, mode: "exclusive", memoryMb: null });
    return { deployment_id, check_id, status: "ready", entrypoints };
  } catch (error) {
    if (!(error instanceof HostBootError)) throw error;
    if (error.thrown !== null) return fail(error.thrown.message, error.thrown.stack);
    if (error.death === null || error.death.spawnError !== null || error.death.killCause === "stopped")
      throw error;
    if (error.death.killCause === "boot_timeout")
      return fail("The bundle was not imported within 30 s; something at its top level does not end.", null);
    const { message, stack } = describeDeath(error.death, null);
    return fail(`The process ended while it imported the bundle. ${message}`, stack);
  }
}
