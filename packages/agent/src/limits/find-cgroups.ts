import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import type { Logger } from "../log.ts";
import { supervisorFolder } from "../supervisor/supervisor-folder.ts";
import { openCgroupBase, readCgroupFacts } from "./cgroup-base.ts";
import { joinArguments, openWorkspaceCgroups, type WorkspaceCgroups } from "./workspace-cgroup.ts";

/**
 * The cgroups of an agent's workspaces, without those that nothing is left of. The log says by what workspaces are held to
 * their limits here, and where the kernel does not do it, why.
 *
 * @returns null where the agent may have none.
 */
export async function findCgroups(home: string, logger: Logger): Promise<WorkspaceCgroups | null> {
  try {
    const base = openCgroupBase(readCgroupFacts());
    const cgroups = openWorkspaceCgroups(base, home);
    await tryOne(cgroups);
    // Those of a supervisor that may live are its next owner's to end.
    for (const id of cgroups.list()) if (!existsSync(supervisorFolder(home, id))) await cgroups.remove(id);
    logger.info({ folder: base.folder, controllers: base.controllers }, "cgroups limit workspaces");
    return cgroups;
  } catch (error) {
    const { message: reason } = error as Error;
    logger.info(
      { reason },
      "workspaces have no cgroups here: their supervisors measure them and end what goes over a limit",
    );
    return null;
  }
}

/** What cannot be given is known now, and not by the first workspace that fails. */
async function tryOne(cgroups: WorkspaceCgroups): Promise<void> {
  const place = cgroups.create("probe", { processes: 1, memoryMebibytes: 32, cores: 0.1 });
  try {
    const [file, ...args] = [...joinArguments(place), "true"];
    await promisify(execFile)(file, args);
  } catch (error) {
    // Who may make a cgroup may not always move a process to it.
    throw new Error(
      `No process can be moved to ${place}: give the agent the whole of its cgroup, as systemd does by Delegate=yes.`,
      { cause: error },
    );
  } finally {
    await cgroups.remove("probe");
  }
}
