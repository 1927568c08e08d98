import type { DiffEntry, FileEntry } from "@keelson/contract";
import type { TreeChange, TreeEntry } from "@keelson/workspace-tree";
import { toTimestamp } from "../../edge/time.ts";

const octal = (mode: number): string => mode.toString(8).padStart(4, "0");

export function toFileEntry(entry: TreeEntry): FileEntry {
  const { path, kind } = entry;
  const name = path.slice(path.lastIndexOf("/") + 1);
  const modified_at = toTimestamp(entry.modifiedAt);
  const fields = { path, name, kind, size_bytes: 0, link_target: null, digest: null, modified_at };
  switch (entry.kind) {
    case "directory":
      return { ...fields, mode: octal(entry.mode) };
    case "symlink":
      return {
        ...fields,
        mode: "0777",
        size_bytes: Buffer.byteLength(entry.target),
        link_target: entry.target,
      };
    case "file":
      return { ...fields, mode: octal(entry.mode), size_bytes: entry.size, digest: entry.digest };
  }
}

/** The root has no entry of its own in a tree. */
export const rootEntry = (createdAt: number): FileEntry =>
  toFileEntry({ kind: "directory", path: "", mode: 0o755, modifiedAt: createdAt });

export const toDiffEntry = ({ path, change, before, after }: TreeChange): DiffEntry => ({
  path,
  change,
  before: before === null ? null : toFileEntry(before),
  after: after === null ? null : toFileEntry(after),
});
