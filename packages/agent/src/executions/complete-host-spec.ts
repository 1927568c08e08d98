import type { TaskFolder } from "@keelson/contract";
import type { BundleCache } from "../bundles/bundle-cache.ts";
import type { SandboxUser } from "../sandboxes/sandbox-user.ts";
import { findFolders } from "../task-hosts/declared-folders.ts";
import type { HostSpec } from "../task-hosts/host-key.ts";
import { TierUnavailable, type TaskTier } from "../task-hosts/task-tier.ts";
import type { TaskUser, TaskUsers } from "../task-hosts/task-users.ts";

export type HostMeans = { users: TaskUsers; bundles: BundleCache; tier: TaskTier; dataDir: string };

export type AskedHostSpec = Omit<HostSpec, "bundleRoot" | "bundlePath" | "user" | "folders"> & {
  folders: readonly TaskFolder[];
};

/** Does something while no agent evicts the bundle. Hosts that begin meanwhile keep it as long as they live. */
export async function whileHeld<T>(
  { digest }: { digest: string },
  { bundles }: HostMeans,
  work: () => Promise<T>,
): Promise<T> {
  const release = bundles.hold(digest);
  try {
    return await work();
  } finally {
    release();
  }
}

/**
 * Finds the user of a host and the folders that it declares, and puts the bundle where that user may read it. The bundle is held.
 *
 * @throws FolderUnavailable, or TierUnavailable.
 */
export async function completeHostSpec(
  spec: AskedHostSpec,
  workspace: SandboxUser | null,
  { users, bundles, tier, dataDir }: HostMeans,
): Promise<HostSpec> {
  // First, so that a uid is claimed only for what can be run.
  await bundles.fetch(spec);
  const isIsolated = spec.isolation === "namespace";
  const user = isIsolated
    ? await isolatedUser(spec.environmentId, tier)
    : await users.of(spec.environmentId, workspace);
  const folders = isIsolated ? await findFolders(spec.folders, { dataDir, user }) : [];
  const { root, path } = await bundles.place(spec, user?.gid ?? null);
  return { ...spec, folders, user, bundleRoot: root, bundlePath: path };
}

/** Boots a bundle. If its files had vanished from the cache, they are fetched again, and it is booted once more. */
export async function bootWhole<T>(
  spec: HostSpec,
  { bundles }: HostMeans,
  boot: (spec: HostSpec) => Promise<T>,
): Promise<T> {
  try {
    return await boot(spec);
  } catch (error) {
    if (!(await bundles.repair(spec, spec.user?.gid ?? null))) throw error;
    return boot(spec);
  }
}

/** Of the environment, also where the run has a workspace: it sees nothing of that by path. */
function isolatedUser(environmentId: string, { namespace, problem }: TaskTier): Promise<TaskUser | null> {
  if (namespace === null)
    throw new TierUnavailable(`The worker runs no tasks with the isolation namespace. ${problem}`);
  return namespace.userOf(environmentId);
}
