import type { WorkspaceLeaseRequest } from "@keelson/contract";
import type { WorkspaceCgroups } from "../limits/workspace-cgroup.ts";
import type { Logger } from "../log.ts";
import { findEnvironment, listWorkspaceFolders, mayHaveChanges } from "./workspace-folder.ts";
import { endFormer } from "./workspace-processes.ts";

/** What earlier processes of the agent, and owners that lost their lease, left of workspaces. */
export type LeftWorkspace = NonNullable<WorkspaceLeaseRequest["quarantined"]>[number];

type IsHeld = (materializationId: string) => boolean;

/** Of one call. */
const MOST = 1000;

/** Folders that may be gone on with and that nothing here holds: the server says which of them are this worker's to commit. */
export async function findLeft(parent: string, isHeld: IsHeld): Promise<LeftWorkspace[]> {
  const found: LeftWorkspace[] = [];
  for (const { name, folder } of await listWorkspaceFolders(parent)) {
    const [, id, epoch] = /^(mat_[0-9a-z]{26})-([0-9]{1,10})$/.exec(name) ?? [];
    if (id === undefined || isHeld(id)) continue;
    const environmentId = await findEnvironment(folder.path);
    if (environmentId !== null)
      found.push({ materialization_id: id, environment_id: environmentId, epoch: Number(epoch) });
  }
  return found.slice(0, MOST);
}

export type RemoveLeftOptions = {
  parent: string;
  home: string;
  logger: Logger;
  cgroups: WorkspaceCgroups | null;
  isHeld: IsHeld;
  /** Somebody said that its files are not wanted. */
  isDiscarded(materializationId: string): boolean;
};

/**
 * Ends what still runs there and removes the folders, but those whose changes no version has and nobody gave up.
 *
 * @returns false when something could not be removed.
 */
export async function removeLeft(options: RemoveLeftOptions): Promise<boolean> {
  const { parent, home, logger, cgroups, isHeld, isDiscarded } = options;
  let isRemoved = true;
  for (const { name, folder } of await listWorkspaceFolders(parent)) {
    const [materializationId = name] = name.split("-");
    if (isHeld(materializationId)) continue;
    try {
      await endFormer({ dataDir: home, materializationId, logger, cgroups });
      if (isDiscarded(materializationId) || !(await mayHaveChanges(folder.path))) await folder.remove();
      else
        logger.warn(
          { name, folder: folder.path },
          "this folder has files that no version has, and its workspace went on without them; remove it when they are not needed",
        );
    } catch (err) {
      isRemoved = false;
      logger.warn({ err, name }, "what was left of a workspace could not be removed; trying again later");
    }
  }
  return isRemoved;
}
