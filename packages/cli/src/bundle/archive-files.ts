import { createHash } from "node:crypto";
import { ArchiveError, formatArchive, parseArchive, type Archive } from "@keelson/contract";
import { BundleError } from "./bundle-error.ts";

/** A file of the archive that is made. */
export type BundleFile = {
  /** Relative to the archive's root, with `/` between names. */
  path: string;
  bytes: Uint8Array;
  executable: boolean;
};

export type BundledFile = BundleFile & { digest: string };

export type PackedArchive = {
  /** SHA-256 of the index in hexadecimal. The same sources give the same bytes. */
  digest: string;
  index: Uint8Array;
  /** The path of the module to import. */
  entry: string;
  files: readonly BundledFile[];
  /** Of the Node.js that made it. */
  nodeVersion: string;
  platform: Archive["platform"];
};

const digestOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** Makes the index of the files, as a server reads it. Throws a BundleError for what no server takes. */
export function packArchive(
  entry: string,
  files: readonly BundleFile[],
  platform: Archive["platform"],
): PackedArchive {
  const bundled = files.map((file) => ({ ...file, digest: digestOf(file.bytes) }));
  const nodeVersion = process.versions.node;
  const index = formatArchive({
    format_version: 2,
    entry,
    node_version: nodeVersion,
    platform,
    files: bundled.map(({ path, digest, bytes, executable }) => ({
      path,
      digest,
      size_bytes: bytes.length,
      executable,
    })),
  });
  try {
    parseArchive(index);
  } catch (error) {
    if (error instanceof ArchiveError) throw new BundleError(error.message, [], { cause: error });
    throw error;
  }
  return { digest: digestOf(index), index, entry, files: bundled, nodeVersion, platform };
}
