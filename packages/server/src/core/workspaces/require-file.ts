import { findEntry, type FileEntry, type Tree } from "@keelson/workspace-tree";
import { DomainError, invalidRequest } from "../../domain-error.ts";

export const noFile = (path: string): DomainError =>
  new DomainError("not_found", `There is no ${JSON.stringify(path)} in this version.`, { path });

/** The file of a path; what is no file has no content. */
export function requireFile(tree: Tree, path: string): FileEntry {
  const entry = path === "" ? null : findEntry(tree, path);
  if (entry === null && path !== "") throw noFile(path);
  if (entry?.kind === "file") return entry;
  const what =
    entry?.kind === "symlink"
      ? "a symbolic link, which is not followed; its target is in files/stat"
      : "a directory";
  throw invalidRequest([{ path: "path", message: `${JSON.stringify(path)} is ${what}` }]);
}
