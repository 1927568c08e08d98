import { checkPath } from "./path.ts";
import { buildTree, findEntry, indexOf, parentOf, type Extent, type Tree, type TreeEntry } from "./tree.ts";
import { TreeError } from "./tree-error.ts";

export type NewFile = {
  readonly path: string;
  /** Default: that of the file it replaces, else 0o644. */
  readonly mode?: number;
  readonly modifiedAt: number;
  readonly size: number;
  readonly digest: string;
  readonly extents: readonly Extent[];
};

/**
 * The tree with a file written, and the directories on its way made. A symbolic link at the path is replaced.
 *
 * @throws TreeError `invalid_path`, `wrong_kind` when the path is a directory or leads through something that is none,
 * `too_large`.
 */
export function putFile(tree: Tree, file: NewFile): Tree {
  const { path, mode, modifiedAt, size, digest, extents } = file;
  checkPath(path);
  if (path === "") throw isDirectory(path);
  const present = findEntry(tree, path);
  if (present?.kind === "directory") throw isDirectory(path);
  const added: TreeEntry[] = missingDirectories(tree, path).map((directory) => ({
    kind: "directory",
    path: directory,
    mode: 0o755,
    modifiedAt,
  }));
  const entry: TreeEntry = {
    kind: "file",
    path,
    mode: mode ?? (present?.kind === "file" ? present.mode : 0o644),
    modifiedAt,
    size,
    digest,
    extents,
  };
  const found = indexOf(tree, path);
  const entries = [...tree.entries];
  // The missing directories are right before the file: nothing of the tree is between them.
  if (found >= 0) entries.splice(found, 1, entry);
  else entries.splice(-1 - found, 0, ...added, entry);
  return buildTree(entries);
}

const isDirectory = (path: string): TreeError =>
  new TreeError("wrong_kind", `${JSON.stringify(path)} is a directory; name a file in it.`, { path });

function missingDirectories(tree: Tree, path: string): string[] {
  const missing: string[] = [];
  for (let parent = parentOf(path); parent !== ""; parent = parentOf(parent)) {
    const entry = findEntry(tree, parent);
    if (entry?.kind === "directory") break;
    if (entry !== null)
      throw new TreeError("wrong_kind", `${JSON.stringify(parent)} is not a directory.`, { path: parent });
    missing.unshift(parent);
  }
  return missing;
}

/**
 * The tree without a file or symbolic link; null when there is nothing at the path.
 *
 * @throws TreeError `invalid_path`, `wrong_kind` for a directory.
 */
export function removeEntry(tree: Tree, path: string): Tree | null {
  checkPath(path);
  const index = path === "" ? -1 : indexOf(tree, path);
  if (path === "" || tree.entries[index]?.kind === "directory") throw isDirectory(path);
  return index < 0 ? null : buildTree(tree.entries.toSpliced(index, 1));
}
