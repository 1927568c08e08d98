import { realpath, stat } from "node:fs/promises";
import { join, relative, sep } from "node:path";

/**
 * The real folder of a workspace path. A symlink on the way may point to another place in the workspace, never out of it.
 *
 * @returns its absolute path and the one from the root, both without symlinks.
 * @throws Error with what is wrong, for the caller of the exec.
 */
export async function resolveFolder(
  root: string,
  path: string,
): Promise<{ absolute: string; inside: string }> {
  const top = await realpath(root);
  let absolute: string;
  try {
    absolute = await realpath(join(top, path));
    if (!(await stat(absolute)).isDirectory()) throw new Error("is no folder");
  } catch (cause) {
    throw new Error(`The working folder "${path}" is not there, or is no folder.`, { cause });
  }
  const inside = relative(top, absolute);
  if (inside === ".." || inside.startsWith(`..${sep}`))
    throw new Error(`The working folder "${path}" leads out of the workspace.`);
  return { absolute, inside };
}
