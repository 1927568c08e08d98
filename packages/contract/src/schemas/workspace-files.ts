import { Type, type Static } from "typebox";
import { DIFF_CHANGES, FILE_KINDS } from "../workspaces.ts";
import { Digest, Id, Nullable, Timestamp } from "./primitives.ts";

/** A file, directory or symbolic link of a version. Symbolic links are kept as they are and never followed. */
export const FileEntry = Type.Object(
  {
    path: Type.String({ description: "From the workspace's root, `/`-separated; empty for the root." }),
    name: Type.String(),
    kind: Type.Enum([...FILE_KINDS]),
    size_bytes: Type.Integer(),
    mode: Type.String({ description: "Permission bits in octal, such as `0644`." }),
    link_target: Nullable(Type.String()),
    digest: Nullable(Digest),
    modified_at: Timestamp,
  },
  { $id: "FileEntry" },
);
export type FileEntry = Static<typeof FileEntry>;

export const FileList = Type.Object(
  { files: Type.Array(FileEntry), version_id: Id("wsv"), next_cursor: Nullable(Type.String()) },
  { $id: "FileList" },
);
export type FileList = Static<typeof FileList>;

/** `before` is null for what was added, `after` for what was removed. */
export const DiffEntry = Type.Object(
  {
    path: Type.String(),
    change: Type.Enum([...DIFF_CHANGES]),
    before: Nullable(FileEntry),
    after: Nullable(FileEntry),
  },
  { $id: "DiffEntry" },
);
export type DiffEntry = Static<typeof DiffEntry>;

/** What changed from version `base_version_id` to `version_id`, in the order of paths. */
export const VersionDiff = Type.Object(
  {
    changes: Type.Array(DiffEntry),
    base_version_id: Nullable(Id("wsv")),
    version_id: Id("wsv"),
    next_cursor: Nullable(Type.String()),
  },
  { $id: "VersionDiff" },
);
export type VersionDiff = Static<typeof VersionDiff>;

/** A write or removal of a file: the version it was committed as, and the entry, null when it is gone. */
export const WrittenFile = Type.Object(
  { version_id: Id("wsv"), file: Nullable(FileEntry) },
  { $id: "WrittenFile" },
);
export type WrittenFile = Static<typeof WrittenFile>;
