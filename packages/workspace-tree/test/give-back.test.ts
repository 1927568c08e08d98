import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { commitFolder, EMPTY_TREE, giveBack, passing } from "@keelson/workspace-tree";
import { testFolder } from "./support.ts";

const MIB = 1024 * 1024;

test("memory is given back, but not that which Node cuts for others as well", () => {
  const [whole, part] = [Buffer.allocUnsafeSlow(MIB), Buffer.allocUnsafeSlow(MIB).subarray(5, 9)];
  giveBack(whole);
  giveBack(part);
  assert.deepEqual([whole.byteLength, part.byteLength], [0, 0]);
  const [small, beside] = [Buffer.from("small"), Buffer.from("beside")];
  assert.equal(small.buffer, beside.buffer, "Node cuts them out of the same memory");
  giveBack(small);
  assert.deepEqual([small.toString(), beside.toString()], ["small", "beside"]);
});

test("chunks pass: each is there until the next is asked for, unless others have its memory", async () => {
  const shared = Buffer.allocUnsafeSlow(MIB);
  const given = [Buffer.allocUnsafeSlow(MIB), shared.subarray(0, 9), Buffer.allocUnsafeSlow(9)];
  const seen: number[] = [];
  for await (const chunk of passing(listed(given))) seen.push(chunk.byteLength);
  assert.deepEqual(seen, [MIB, 9, 9]);
  assert.deepEqual(
    given.map(({ byteLength }) => byteLength),
    [0, 9, 0],
  );
});

test("a commit gives back the memory of every piece that is stored, and of none before", async () => {
  const folder = testFolder();
  for (let i = 0; i < 300; i += 1) writeFileSync(`${folder}/small-${i}`, randomBytes(50_000));
  writeFileSync(`${folder}/text`, "text ".repeat(MIB));
  writeFileSync(`${folder}/large`, randomBytes(9 * MIB));
  const pieces: Uint8Array[] = [];
  let storedBytes = 0;
  const put = async (_digest: string, bytes: Uint8Array): Promise<void> => {
    await Promise.resolve();
    storedBytes += bytes.byteLength;
    pieces.push(bytes);
  };
  const { manifest, storedBytes: told } = await commitFolder(folder, {
    base: EMPTY_TREE,
    cache: new Map(),
    sink: { put },
    now: Date.now() + 1_000,
  });
  assert.equal(storedBytes - (manifest?.bytes.byteLength ?? 0), told);
  assert.ok(pieces.length > 7);
  assert.deepEqual(
    pieces.filter((bytes) => bytes !== manifest?.bytes && bytes.byteLength > 0),
    [],
  );
});

async function* listed(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}
