export { TreeError, type TreeErrorCode } from "./tree-error.ts";
export { checkPath, comparePaths, TREE_LIMITS } from "./path.ts";
export {
  buildTree,
  childrenOf,
  EMPTY_TREE,
  findEntry,
  nameOf,
  type DirectoryEntry,
  type Extent,
  type FileEntry,
  type SymlinkEntry,
  type Tree,
  type TreeEntry,
} from "./tree.ts";
export { decodeManifest, encodeManifest, type EncodedManifest } from "./manifest.ts";
export { giveBack, passing } from "./give-back.ts";
export { diffTrees, type TreeChange } from "./diff-trees.ts";
export { putFile, removeEntry, type NewFile } from "./edit-tree.ts";
export { openPiece, sealPiece, type BlobSink, type BlobSource, type Piece } from "./piece.ts";
export { storeContent, type StoredContent } from "./store-content.ts";
export { readContent } from "./read-content.ts";
export {
  commitFolder,
  type CommitFolderOptions,
  type CommittedFolder,
  type LeftOut,
  type SkippedFile,
} from "./commit-folder.ts";
export { writeFolder, type WriteFolderOptions } from "./write-folder.ts";
export type { StatCache } from "./stat-cache.ts";
export { giveFolder, type Owner } from "./give-folder.ts";
export { removeFolder } from "./remove-folder.ts";
export { listLive, openLive, removeLive, statLive, type LiveEntry, type LiveTree } from "./live-files.ts";
export { StagedFile } from "./staged-file.ts";
export { LiveFileError, type LiveFileErrorCode } from "./live-file-error.ts";
