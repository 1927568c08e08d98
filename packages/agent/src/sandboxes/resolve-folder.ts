import { join } from "node:path";
import { enterFolder } from "@keelson/workspace-tree/enter-folder";
import type { Surroundings } from "../supervisor/calls.ts";
import { INSIDE_ROOT } from "./bubblewrap-arguments.ts";

/** Where a process starts. */
export type WorkingFolder = {
  /** What a process of the supervisor's user changes into: the folder that is held, whatever has its name by now. */
  held: string;
  /** Its path on the machine, for those who are told of it. */
  absolute: string;
  /** From the workspace's root, without links. */
  inside: string;
  close(): void;
};

/**
 * Holds the folder of a workspace path until a process was started in it. A symlink on the way may point to another place
 * in the workspace, never out of it; nothing outside is looked at, so an error says the same whatever is there.
 *
 * @throws Error with what is wrong, for the caller of the exec.
 */
export function resolveFolder({ root, isolation }: Surroundings, path: string): WorkingFolder {
  const place = enterFolder(root, path, [isolation === "namespace" ? INSIDE_ROOT : root]);
  if (place === null)
    throw new Error(`The working folder "${path}" does not exist, or is not a folder of the workspace.`);
  const { folder, inside, close } = place;
  const absolute = join(root, inside);
  // The child has the descriptor too, until it executes a program.
  return { held: folder.place, absolute, inside, close };
}
