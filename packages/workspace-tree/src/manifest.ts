import { setImmediate as turn } from "node:timers/promises";
import { promisify } from "node:util";
import { constants, zstdCompress, zstdDecompress } from "node:zlib";
import { hash } from "node:crypto";
import { TREE_LIMITS } from "./path.ts";
import { buildTree, type Extent, type Tree, type TreeEntry } from "./tree.ts";
import { TreeError } from "./tree-error.ts";

/**
 * A tree as it is stored: zstd over lines of JSON, so that a large one can be read with turns for others between.
 *
 *   {"format":1,"entries":3,"blobs":1}
 *   "<digest of a piece>"                                          one for each piece
 *   ["d","docs",493,1763716800000]                                 directory: path, mode, modified at
 *   ["f","docs/a.txt",420,1763716800000,3,"<digest>",0,17,3]       file: …, size, digest, then piece, offset, length each
 *   ["l","latest",1763716800000,"docs/a.txt"]                      symbolic link: path, modified at, target
 */
export type EncodedManifest = {
  /** SHA-256 of `bytes`: the name of the blob. */
  readonly digest: string;
  readonly bytes: Buffer;
  /** Every piece that the tree is in, once each. */
  readonly blobs: readonly string[];
};

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);
const LINES_PER_TURN = 2_000;

export async function encodeManifest(tree: Tree): Promise<EncodedManifest> {
  const blobs = new Map<string, number>();
  const lines: string[] = [];
  for (const [index, entry] of tree.entries.entries()) {
    lines.push(JSON.stringify(toLine(entry, blobs)));
    if (index % LINES_PER_TURN === LINES_PER_TURN - 1) await turn();
  }
  const head = JSON.stringify({ format: 1, entries: tree.entries.length, blobs: blobs.size });
  const names = [...blobs.keys()];
  const text = [head, ...names.map((name) => JSON.stringify(name)), ...lines, ""].join("\n");
  const bytes = await compress(text, { params: { [constants.ZSTD_c_compressionLevel]: 3 } });
  return { digest: hash("sha256", bytes), bytes, blobs: names };
}

function toLine(entry: TreeEntry, blobs: Map<string, number>): unknown[] {
  switch (entry.kind) {
    case "directory":
      return ["d", entry.path, entry.mode, entry.modifiedAt];
    case "symlink":
      return ["l", entry.path, entry.modifiedAt, entry.target];
    case "file": {
      const line: unknown[] = ["f", entry.path, entry.mode, entry.modifiedAt, entry.size, entry.digest];
      for (const { blob, offset, length } of entry.extents) {
        let index = blobs.get(blob);
        if (index === undefined) blobs.set(blob, (index = blobs.size));
        line.push(index, offset, length);
      }
      return line;
    }
  }
}

/**
 * Reads a manifest whose digest the caller names, and checks everything in it.
 *
 * @throws TreeError `damaged` when the bytes have another digest or hold what no tree can, `too_large`.
 */
export async function decodeManifest(
  digest: string,
  bytes: Uint8Array,
): Promise<{ tree: Tree; blobs: readonly string[] }> {
  if (hash("sha256", bytes) !== digest)
    throw new TreeError("damaged", `The manifest ${digest} is damaged: its bytes have another digest.`, {
      digest,
    });
  try {
    const text = await decompress(bytes, { maxOutputLength: TREE_LIMITS.manifestBytes });
    return await parse(text.toString("utf8"));
  } catch (error) {
    if (error instanceof TreeError) throw error;
    throw new TreeError("damaged", `The manifest ${digest} cannot be read.`, { digest }, { cause: error });
  }
}

async function parse(text: string): Promise<{ tree: Tree; blobs: readonly string[] }> {
  let at = 0;
  const next = (): unknown => {
    const end = text.indexOf("\n", at);
    if (end < 0) throw new TreeError("damaged", "A manifest ends before its last line.");
    const line: unknown = JSON.parse(text.slice(at, end));
    at = end + 1;
    return line;
  };
  const { format, entries: entryCount, blobs: blobCount } = next() as Record<string, unknown>;
  if (format !== 1 || !isCount(entryCount) || !isCount(blobCount))
    throw new TreeError("damaged", "A manifest is of an unknown format.");
  if (entryCount > TREE_LIMITS.entries)
    throw new TreeError(
      "too_large",
      `The tree has ${entryCount} entries; at most ${TREE_LIMITS.entries} can be kept.`,
    );
  const blobs: string[] = [];
  for (let i = 0; i < blobCount; i += 1) blobs.push(next() as string);
  const entries: TreeEntry[] = [];
  for (let i = 0; i < entryCount; i += 1) {
    entries.push(fromLine(next() as unknown[], blobs));
    if (i % LINES_PER_TURN === LINES_PER_TURN - 1) await turn();
  }
  if (at !== text.length) throw new TreeError("damaged", "A manifest goes on after its last line.");
  const used = new Set(
    entries.flatMap((entry) => (entry.kind === "file" ? entry.extents.map((e) => e.blob) : [])),
  );
  if (used.size !== blobs.length)
    throw new TreeError("damaged", "A manifest names pieces that no file is in.");
  return { tree: buildTree(entries), blobs };
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** What is of another type than it should be is refused when the tree is built. */
function fromLine(line: unknown[], blobs: readonly string[]): TreeEntry {
  const path = String(line[1]);
  switch (line[0]) {
    case "d":
      return { kind: "directory", path, mode: line[2] as number, modifiedAt: line[3] as number };
    case "l":
      return { kind: "symlink", path, modifiedAt: line[2] as number, target: String(line[3]) };
    case "f": {
      const extents: Extent[] = [];
      for (let i = 6; i < line.length; i += 3) {
        extents.push({
          blob: blobs[line[i] as number] ?? "",
          offset: line[i + 1] as number,
          length: line[i + 2] as number,
        });
      }
      return {
        kind: "file",
        path,
        mode: line[2] as number,
        modifiedAt: line[3] as number,
        size: line[4] as number,
        digest: String(line[5]),
        extents,
      };
    }
    default:
      throw new TreeError("damaged", "A manifest has an entry of an unknown kind.");
  }
}
