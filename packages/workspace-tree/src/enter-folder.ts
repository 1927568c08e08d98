import { fstatSync, readlinkSync } from "node:fs";
import { closeFolder, openChild, openRoot, placeOf, statOf, type OpenFolder } from "./folder.ts";

/** A folder in a live one that is held open, and its path from there without links. */
export type HeldPlace = { readonly folder: OpenFolder; readonly inside: string; close(): void };

/** As many links as Linux follows. */
const MAX_LINKS = 40;

/**
 * Holds a folder of a live folder. Links on the way are followed inside only: each name is looked up in a folder that is
 * held open, and what leads out is not looked at. So nobody learns what is outside, and a swapped name leads nowhere else.
 *
 * @param roots what absolute links inside call the live folder.
 * @returns null when the path names no folder inside.
 */
export function enterFolder(root: string, path: string, roots: readonly string[]): HeldPlace | null {
  const held: { folder: OpenFolder; name: string }[] = [{ folder: openRoot(root), name: "" }];
  const closeAll = (): void => held.forEach(({ folder }) => closeFolder(folder));
  try {
    const found = walk(held, path, roots);
    const top = found ? held.pop() : undefined;
    if (top === undefined) return null;
    const inside = [...held.slice(1).map(({ name }) => name), ...(held.length > 0 ? [top.name] : [])];
    return { folder: top.folder, inside: inside.join("/"), close: () => closeFolder(top.folder) };
  } finally {
    closeAll();
  }
}

function walk(held: { folder: OpenFolder; name: string }[], path: string, roots: readonly string[]): boolean {
  const { dev } = fstatSync(top(held).fd);
  const rest = namesOf(path);
  for (let links = 0, name = rest.shift(); name !== undefined; name = rest.shift()) {
    if (name === "..") {
      if (held.length === 1) return false;
      closeFolder((held.pop() as { folder: OpenFolder }).folder);
      continue;
    }
    const child = tryEnter(top(held), name);
    if (typeof child === "string") {
      if ((links += 1) > MAX_LINKS) return false;
      const target = insideOf(child, roots);
      if (target === null) return false;
      if (child.startsWith("/")) for (const { folder } of held.splice(1)) closeFolder(folder);
      rest.unshift(...namesOf(target));
    } else if (child === null) return false;
    else {
      held.push({ folder: child, name });
      if (fstatSync(child.fd).dev !== dev) return false;
    }
  }
  return true;
}

const top = (held: readonly { folder: OpenFolder }[]): OpenFolder =>
  (held.at(-1) as { folder: OpenFolder }).folder;

const namesOf = (path: string): string[] => path.split("/").filter((name) => name !== "" && name !== ".");

/** The folder of that name, or the text of the link; null when there is neither. */
function tryEnter(folder: OpenFolder, name: string): OpenFolder | string | null {
  try {
    if (statOf(folder, name)?.isSymbolicLink() === true) return readlinkSync(placeOf(folder, name));
    return openChild(folder, name);
  } catch {
    // Not there, no folder, closed to this user, or swapped meanwhile.
    return null;
  }
}

/** Where a link leads from the folder that it is in, or, absolute, from the root; null when out. */
function insideOf(target: string, roots: readonly string[]): string | null {
  if (!target.startsWith("/")) return target;
  const root = roots.find((candidate) => target === candidate || target.startsWith(`${candidate}/`));
  return root === undefined ? null : target.slice(root.length);
}
