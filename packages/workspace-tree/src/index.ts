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
export { diffTrees, type TreeChange } from "./diff-trees.ts";
export { putFile, removeEntry, type NewFile } from "./edit-tree.ts";
export { openPiece, sealPiece, type BlobSink, type BlobSource, type Piece } from "./piece.ts";
export { storeContent, type StoredContent } from "./store-content.ts";
export { readContent } from "./read-content.ts";
export {
  commitFolder,
  type CommitFolderOptions,
  type CommittedFolder,
  type SkippedFile,
} from "./commit-folder.ts";
export { writeFolder, type WriteFolderOptions } from "./write-folder.ts";
export type { StatCache } from "./stat-cache.ts";
