import assert from "node:assert/strict";
import {
  closeSync,
  existsSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { describe, test } from "node:test";
import { commitFolder, EMPTY_TREE, writeFolder, type FileEntry } from "@keelson/workspace-tree";
import { memoryBlobs, testFolder } from "./support.ts";

const MIB = 1024 * 1024;
const KEPT = "what is between the holes";

/** A file of that size of which almost all is a hole. */
function makeSparse(path: string, size: number, writes: readonly number[]): void {
  const fd = openSync(path, "w");
  for (const at of writes) writeSync(fd, KEPT, at);
  ftruncateSync(fd, size);
  closeSync(fd);
}

function readAt(path: string, at: number, length: number): string {
  const fd = openSync(path, "r");
  const bytes = Buffer.alloc(length);
  readSync(fd, bytes, 0, length, at);
  closeSync(fd);
  return bytes.toString();
}

const diskBytes = (path: string): number => statSync(path).blocks * 512;

/** Commits and counts what was stored. */
async function commit(folder: string) {
  const blobs = memoryBlobs();
  let puts = 0;
  const put = (digest: string, bytes: Uint8Array): Promise<void> => ((puts += 1), blobs.put(digest, bytes));
  const options = { base: EMPTY_TREE, cache: new Map(), now: Date.now() + 1_000 };
  const committed = await commitFolder(folder, { ...options, sink: { put } });
  return { ...committed, blobs, puts };
}

describe("sparse files", () => {
  test("stay sparse through a commit and a restore, with what is between their holes", async (t) => {
    const [folder, out] = [testFolder(), testFolder()];
    // The holes are at the beginning, in the middle, and at the end, on no border of anything.
    const size = 256 * MIB + 1;
    const at = [4 * MIB - 7, 100 * MIB + 4095];
    makeSparse(`${folder}/image`, size, at);
    const { tree, blobs, puts } = await commit(folder);
    await writeFolder(out, tree, { source: blobs });
    assert.equal(statSync(`${out}/image`).size, size);
    for (const place of at) assert.equal(readAt(`${out}/image`, place, KEPT.length), KEPT);
    assert.ok(diskBytes(`${folder}/image`) < MIB, "the test's own file is sparse");
    t.diagnostic(
      `${diskBytes(`${folder}/image`)} bytes on disk became ${diskBytes(`${out}/image`)}, ${puts} puts`,
    );
    assert.ok(diskBytes(`${out}/image`) < MIB, `it takes ${diskBytes(`${out}/image`)} bytes`);
    // Three pieces with something in them, one of zeros, the last byte, the manifest.
    assert.ok(puts <= 6, `${puts} pieces were stored`);
    assert.ok((tree.entries[0] as FileEntry).extents.length > 64);
  });

  const noCount = existsSync("/proc/self/io") ? false : "only Linux counts what a process reads";
  test("are not read again while they are unchanged", { skip: noCount }, async () => {
    const folder = testFolder();
    makeSparse(`${folder}/image`, 64 * MIB, [0]);
    const { tree, cache } = await commit(folder);
    const readBytes = (): number => Number(/rchar: (\d+)/.exec(readFileSync("/proc/self/io", "utf8"))?.[1]);
    const before = readBytes();
    const sink = { put: () => Promise.reject(new Error("nothing is to be stored")) };
    const again = await commitFolder(folder, { base: tree, cache, sink, now: Date.now() + 1_000 });
    assert.equal(again.changed, false);
    assert.ok(readBytes() - before < MIB, `${readBytes() - before} bytes were read`);
  });

  test("and small ones, empty ones and ones without holes are restored to the byte", async () => {
    const [folder, out] = [testFolder(), testFolder()];
    const contents: Record<string, Buffer> = {
      nothing: Buffer.alloc(0),
      zero: Buffer.alloc(1),
      zeros: Buffer.alloc(100_000),
      full: Buffer.alloc(5 * MIB, "x"),
      tail: Buffer.concat([Buffer.alloc(4096), Buffer.from("x")]),
      head: Buffer.concat([Buffer.from("x"), Buffer.alloc(4 * MIB + 4096)]),
    };
    for (const [name, content] of Object.entries(contents)) writeFileSync(`${folder}/${name}`, content);
    const { tree, blobs } = await commit(folder);
    await writeFolder(out, tree, { source: blobs });
    for (const [name, content] of Object.entries(contents)) {
      assert.equal(statSync(`${out}/${name}`).size, content.length, name);
      assert.equal(readAt(`${out}/${name}`, 0, content.length), content.toString(), name);
    }
  });
});
