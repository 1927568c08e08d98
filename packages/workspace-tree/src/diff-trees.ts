import { comparePaths } from "./path.ts";
import type { Tree, TreeEntry } from "./tree.ts";

export type TreeChange = {
  readonly path: string;
  readonly change: "added" | "removed" | "modified";
  readonly before: TreeEntry | null;
  readonly after: TreeEntry | null;
};

/** What changed from one tree to the other, in the order of paths. Times alone are no change. */
export function diffTrees(base: Tree, target: Tree): TreeChange[] {
  const changes: TreeChange[] = [];
  if (base.digest === target.digest) return changes;
  let i = 0;
  let j = 0;
  while (i < base.entries.length || j < target.entries.length) {
    const before = base.entries[i];
    const after = target.entries[j];
    const order = before === undefined ? 1 : after === undefined ? -1 : comparePaths(before.path, after.path);
    if (order < 0 && before !== undefined) {
      changes.push({ path: before.path, change: "removed", before, after: null });
      i += 1;
    } else if (order > 0 && after !== undefined) {
      changes.push({ path: after.path, change: "added", before: null, after });
      j += 1;
    } else if (before !== undefined && after !== undefined) {
      if (!isSame(before, after)) changes.push({ path: after.path, change: "modified", before, after });
      i += 1;
      j += 1;
    }
  }
  return changes;
}

function isSame(a: TreeEntry, b: TreeEntry): boolean {
  switch (a.kind) {
    case "file":
      return b.kind === "file" && a.digest === b.digest && a.mode === b.mode;
    case "directory":
      return b.kind === "directory" && a.mode === b.mode;
    case "symlink":
      return b.kind === "symlink" && a.target === b.target;
  }
}
