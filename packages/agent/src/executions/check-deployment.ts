import type { DeploymentCheck, DeploymentChecked } from "@keelson/contract";
import { isBundleFormatVersion } from "@keelson/contract";
import { classifyBoot } from "../deaths/classify-boot.ts";
import type { HostSpec } from "../task-hosts/host-key.ts";
import type { HostPool } from "../task-hosts/host-pool.ts";
import { bootWhole, completeHostSpec, whileHeld, type HostMeans } from "./complete-host-spec.ts";
import { projectStack, withoutRoot } from "./project-stack.ts";
import { unknownFormat } from "./unknown-format.ts";

const MESSAGE_CHARACTERS = 8192;
const STACK_CHARACTERS = 65_536;

const unloaded = (
  { deployment_id, check_id }: DeploymentCheck,
  status: "failed" | "interrupted",
  message: string,
  stack: string | null,
): DeploymentChecked => ({
  deployment_id,
  check_id,
  status,
  error: {
    message: message.slice(0, MESSAGE_CHARACTERS),
    stack: stack === null ? null : stack.slice(0, STACK_CHARACTERS),
  },
});

/** The answer to a check that infrastructure ended, or that did not begin here. */
export const interruptedCheck = (check: DeploymentCheck, message: string): DeploymentChecked =>
  unloaded(check, "interrupted", message, null);

/**
 * Boots a deployment's bundle without running anything of it. What infrastructure does meanwhile (no download, no process,
 * a process that is killed from outside) says nothing of the bundle: the check is then answered as interrupted.
 */
export const checkDeployment = (
  check: DeploymentCheck,
  hosts: HostPool,
  means: HostMeans,
): Promise<DeploymentChecked> =>
  whileHeld({ digest: check.bundle_digest }, means, () => checkHeld(check, hosts, means));

async function checkHeld(
  check: DeploymentCheck,
  hosts: HostPool,
  means: HostMeans,
): Promise<DeploymentChecked> {
  const { deployment_id, check_id, bundle_digest: digest, environment_id: environmentId } = check;
  const fail = (message: string, stack: string | null): DeploymentChecked =>
    unloaded(check, "failed", message, stack);
  const { bundle_format_version: format } = check;
  if (!isBundleFormatVersion(format)) return fail(unknownFormat(format), null);
  let spec: HostSpec;
  try {
    const asked = { environmentId, digest, format, secrets: {}, mode: "exclusive", memoryMb: null } as const;
    const tier = { isolation: "process", folders: [] } as const;
    spec = await completeHostSpec({ ...asked, ...tier }, null, means);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return interruptedCheck(check, `The worker could not get the bundle: ${reason}`);
  }
  try {
    const entrypoints = await bootWhole(spec, means, (whole) => hosts.check(whole));
    return { deployment_id, check_id, status: "ready", entrypoints };
  } catch (error) {
    const outcome = classifyBoot(error, null);
    if (outcome.blame === "infrastructure") return interruptedCheck(check, outcome.message);
    const { message, stack } = outcome.failure;
    return fail(withoutRoot(message, spec.bundleRoot), stack && projectStack(stack, spec.bundleRoot));
  }
}
