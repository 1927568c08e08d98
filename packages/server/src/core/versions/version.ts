import type { CommitWorkspace, VersionCauseKind } from "@keelson/contract";

/**
 * A version is the files of a workspace at one moment. It is there or it is not: what it needs is stored first, then one
 * transaction makes it, says what it needs and points the workspace at it. It never changes, and goes with its workspace, or when it
 * is old and nothing refers to it.
 */
export type VersionCause = { kind: VersionCauseKind; id: string | null };

/** What of a folder its version has under another name, or not at all: as the wire has it, the first of each. */
export type VersionNotes = Required<NonNullable<CommitWorkspace["notes"]>>;

/** A tree that is stored. */
export type StoredTree = {
  /** Of the tree, whatever it is stored in; lower-case hexadecimal, as all digests here. */
  digest: string;
  manifestDigest: string;
  /** The pieces that the manifest names. */
  blobs: readonly string[];
  fileCount: number;
  sizeBytes: number;
};
