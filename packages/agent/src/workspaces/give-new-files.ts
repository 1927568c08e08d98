import { giveFolder, type Owner } from "@keelson/workspace-tree";
import type { Logger } from "../log.ts";

/**
 * Makes the workspace's own user the owner of what its runs wrote by path, as the agent's user: its commands may then
 * change it. Its commands may be running: what is given is in the workspace, whatever they swap.
 */
export async function giveNewFiles(folder: string, owner: Owner, logger: Logger): Promise<void> {
  try {
    const withheld = await giveFolder(folder, owner);
    if (withheld.length > 0)
      logger.warn({ folder, withheld }, "files of a run with several names or of a device keep their owner");
  } catch (err) {
    logger.warn({ folder, err }, "files of a run could not be given to its commands");
  }
}
