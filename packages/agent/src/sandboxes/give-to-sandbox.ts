import { giveFolder } from "@keelson/workspace-tree";
import type { SupervisorOptions } from "../supervisor/calls.ts";
import { chooseUid } from "./sandbox.ts";

/**
 * Gives the files of a workspace to the user as whom its sandbox runs. The agent does it before it starts a supervisor, which
 * loads no other package, so that it starts fast.
 */
export async function giveToSandbox({
  materializationId,
  surroundings,
  means,
}: Pick<SupervisorOptions, "materializationId" | "surroundings" | "means">): Promise<void> {
  const uid = chooseUid(means, surroundings, materializationId);
  if (uid !== null) await giveFolder(surroundings.root, { uid, gid: uid });
}
