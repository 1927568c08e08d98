import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { describe, test } from "node:test";
import {
  buildTree,
  childrenOf,
  decodeManifest,
  diffTrees,
  EMPTY_TREE,
  encodeManifest,
  findEntry,
  putFile,
  readContent,
  removeEntry,
  storeContent,
  TreeError,
  type FileEntry,
  type Tree,
} from "@keelson/workspace-tree";
import { memoryBlobs, type MemoryBlobs } from "./support.ts";

const code = (expected: string) => (error: unknown) => error instanceof TreeError && error.code === expected;

async function* chunksOf(bytes: Uint8Array, size = 100_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function put(
  tree: Tree,
  blobs: MemoryBlobs,
  path: string,
  content: string | Buffer,
  mode?: number,
): Promise<Tree> {
  const stored = await storeContent(chunksOf(Buffer.from(content)), blobs, 64 * 1024 * 1024);
  return putFile(tree, {
    path,
    modifiedAt: 1_763_716_800_000,
    ...stored,
    ...(mode === undefined ? {} : { mode }),
  });
}

async function read(
  tree: Tree,
  blobs: MemoryBlobs,
  path: string,
  start?: number,
  end?: number,
): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of readContent(findEntry(tree, path) as FileEntry, blobs, start, end))
    parts.push(part);
  return Buffer.concat(parts);
}

describe("trees", () => {
  test("a file is put with its directories, read, replaced and removed", async () => {
    const blobs = memoryBlobs();
    let tree = await put(EMPTY_TREE, blobs, "a/b/c.txt", "one");
    tree = await put(tree, blobs, "a-b", "two", 0o755);
    assert.deepEqual(
      tree.entries.map(({ path, kind }) => [path, kind]),
      [
        ["a", "directory"],
        ["a/b", "directory"],
        ["a/b/c.txt", "file"],
        ["a-b", "file"],
      ],
    );
    assert.deepEqual([tree.fileCount, tree.sizeBytes], [2, 6]);
    assert.equal((await read(tree, blobs, "a/b/c.txt")).toString(), "one");
    const changed = await put(tree, blobs, "a-b", "three");
    assert.equal((findEntry(changed, "a-b") as FileEntry).mode, 0o755);
    assert.equal(findEntry(removeEntry(changed, "a-b") as Tree, "a-b"), null);
    assert.equal(removeEntry(changed, "absent"), null);
    await assert.rejects(put(tree, blobs, "a", "x"), code("wrong_kind"));
    await assert.rejects(put(tree, blobs, "a-b/x", "x"), code("wrong_kind"));
    await assert.rejects(put(tree, blobs, "../x", "x"), code("invalid_path"));
    assert.throws(() => removeEntry(tree, "a"), code("wrong_kind"));
  });

  test("children come in pages by the bytes of their names, whatever is inside them", async () => {
    const blobs = memoryBlobs();
    let tree = EMPTY_TREE;
    for (const path of ["d/z", "d/é", "d/a/x", "d/a/y", "d/a.txt", "d/😀", "d/\uffee", "e"])
      tree = await put(tree, blobs, path, path);
    const names: string[] = [];
    for (let after: string | null = null; ;) {
      const page: string[] = childrenOf(tree, "d", after, 2).map(({ path }) => path.slice(2));
      names.push(...page);
      after = page.at(-1) ?? null;
      if (page.length < 2) break;
    }
    assert.deepEqual(names, ["a", "a.txt", "z", "é", "\uffee", "😀"]);
    assert.deepEqual(
      childrenOf(tree, "", null, 9).map(({ path }) => path),
      ["d", "e"],
    );
    assert.deepEqual(childrenOf(tree, "d", "b", 1)[0]?.path, "d/z");
    assert.throws(() => childrenOf(tree, "e", null, 1), code("wrong_kind"));
  });

  test("a large file is in pieces, and any range of it can be read", async () => {
    const blobs = memoryBlobs();
    const content = Buffer.alloc(10_000_000);
    for (let i = 0; i < content.length; i += 4) content.writeUInt32LE(i, i);
    const tree = await put(EMPTY_TREE, blobs, "big", content);
    const entry = findEntry(tree, "big") as FileEntry;
    assert.equal(entry.extents.length, 3);
    assert.equal(entry.digest, hash("sha256", content));
    assert.ok((await read(tree, blobs, "big")).equals(content));
    for (const [start, end] of [
      [0, 1],
      [4_194_303, 4_194_305],
      [9_999_999, 10_000_000],
      [5, 5],
      [1_000_000, 9_000_000],
    ] as const)
      assert.ok(
        (await read(tree, blobs, "big", start, end)).equals(content.subarray(start, end)),
        `${start} ${end}`,
      );
  });

  test("a manifest gives back its tree, and the same tree has the same digest however it is stored", async () => {
    const blobs = memoryBlobs();
    let tree = await put(EMPTY_TREE, blobs, "a/x", "x");
    tree = await put(tree, blobs, "a/y", "");
    tree = buildTree([
      ...tree.entries,
      { kind: "symlink", path: "link", target: "../../etc/passwd", modifiedAt: 5 },
    ]);
    const { digest, bytes, blobs: named } = await encodeManifest(tree);
    assert.equal(digest, hash("sha256", bytes));
    assert.equal(named.length, 1);
    const decoded = await decodeManifest(digest, bytes);
    assert.deepEqual(decoded.tree, tree);
    assert.deepEqual(decoded.blobs, named);
    const later = buildTree(tree.entries.map((entry) => ({ ...entry, modifiedAt: 6 })));
    assert.equal(later.digest, tree.digest);
    assert.notEqual((await put(tree, blobs, "a/x", "z")).digest, tree.digest);
    const empty = await encodeManifest(EMPTY_TREE);
    assert.deepEqual((await decodeManifest(empty.digest, empty.bytes)).tree, EMPTY_TREE);
  });

  test("what is no tree is refused", () => {
    const file = {
      kind: "file",
      mode: 0o644,
      modifiedAt: 0,
      size: 0,
      digest: "0".repeat(64),
      extents: [],
    } as const;
    const directory = { kind: "directory", mode: 0o755, modifiedAt: 0 } as const;
    const link = { kind: "symlink", modifiedAt: 0, target: "x" } as const;
    const bad: [string, unknown[]][] = [
      [
        "not sorted",
        [
          { ...file, path: "b" },
          { ...file, path: "a" },
        ],
      ],
      [
        "twice",
        [
          { ...file, path: "a" },
          { ...file, path: "a" },
        ],
      ],
      ["without a parent", [{ ...file, path: "a/b" }]],
      [
        "in a file",
        [
          { ...file, path: "a" },
          { ...file, path: "a/b" },
        ],
      ],
      [
        "in a link",
        [
          { ...link, path: "a" },
          { ...file, path: "a/b" },
        ],
      ],
      ["dots", [{ ...directory, path: ".." }]],
      ["a NUL", [{ ...file, path: "a\0" }]],
      ["the root", [{ ...directory, path: "" }]],
      ["setuid", [{ ...file, path: "a", mode: 0o4755 }]],
      ["too few bytes", [{ ...file, path: "a", size: 1 }]],
      ["an odd digest", [{ ...file, path: "a", digest: "x" }]],
      [
        "a negative offset",
        [{ ...file, path: "a", size: 1, extents: [{ blob: "0".repeat(64), offset: -1, length: 1 }] }],
      ],
      ["an empty target", [{ ...link, path: "a", target: "" }]],
      ["no time", [{ ...link, path: "a", modifiedAt: Number.NaN }]],
    ];
    for (const [name, entries] of bad)
      assert.throws(() => buildTree(entries as never), code("damaged"), name);
  });

  test("a difference names what was added, removed and modified, in the order of paths", async () => {
    const blobs = memoryBlobs();
    let base = await put(EMPTY_TREE, blobs, "a/kept", "k");
    base = await put(base, blobs, "a/old", "o");
    base = await put(base, blobs, "mode", "m");
    let target = removeEntry(base, "a/old") as Tree;
    target = await put(target, blobs, "b/new", "n");
    target = await put(target, blobs, "mode", "m", 0o755);
    assert.deepEqual(
      diffTrees(base, target).map(({ path, change }) => [path, change]),
      [
        ["a/old", "removed"],
        ["b", "added"],
        ["b/new", "added"],
        ["mode", "modified"],
      ],
    );
    assert.deepEqual(diffTrees(base, base), []);
  });

  test("a flipped bit or a missing blob is refused, and no wrong byte is given", async () => {
    const blobs = memoryBlobs();
    const content = Buffer.alloc(9_000_000, "abc");
    const tree = await put(await put(EMPTY_TREE, blobs, "small", "hello"), blobs, "large", content);
    for (const path of ["small", "large"]) {
      const last = (findEntry(tree, path) as FileEntry).extents.at(-1)?.blob as string;
      const whole = blobs.stored.get(last) as Uint8Array;
      for (let bit = 0; bit < whole.length * 8; bit += 41) {
        const damaged = Uint8Array.from(whole);
        damaged[bit >> 3] = (damaged[bit >> 3] as number) ^ (1 << (bit & 7));
        blobs.stored.set(last, damaged);
        await assert.rejects(read(tree, blobs, path, 0, undefined), code("damaged"));
      }
      blobs.stored.delete(last);
      await assert.rejects(read(tree, blobs, path), code("missing_blob"));
      blobs.stored.set(last, whole);
    }
    const manifest = await encodeManifest(tree);
    const flipped = Buffer.from(manifest.bytes);
    flipped[20] = (flipped[20] as number) ^ 1;
    await assert.rejects(decodeManifest(manifest.digest, flipped), code("damaged"));
    await assert.rejects(decodeManifest(hash("sha256", flipped), flipped), code("damaged"));
  });
});
