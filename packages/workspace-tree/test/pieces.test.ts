import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { promisify } from "node:util";
import { constants, zstdCompress } from "node:zlib";
import { joinParts, openPiece, PIECE_BYTES, sealPiece } from "../src/piece.ts";

const LEVEL = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

test("a piece is one frame of zstd that says its size, the same bytes each time", async () => {
  for (const raw of [
    randomBytes(PIECE_BYTES),
    Buffer.alloc(PIECE_BYTES, "text "),
    randomBytes(200_000),
    Buffer.from("x"),
    Buffer.alloc(0),
  ]) {
    const piece = await sealPiece(raw);
    const expected = await promisify(zstdCompress)(raw, { ...LEVEL, pledgedSrcSize: raw.length });
    assert.ok(expected.equals(piece.bytes), `${raw.length} bytes`);
    assert.ok((await openPiece(piece.digest, piece.bytes)).equals(raw));
  }
});

test("parts that follow one another in memory are joined without a copy, others are copied", () => {
  const memory = Buffer.from("abcdef");
  const joined = joinParts([memory.subarray(1, 3), memory.subarray(3, 4), memory.subarray(4)]);
  assert.equal(joined.toString(), "bcdef");
  memory.write("X", 2);
  assert.equal(joined.toString(), "bXdef");
  assert.equal(joinParts([memory.subarray(3), memory.subarray(0, 2)]).toString(), "defab");
  assert.equal(joinParts([memory.subarray(0, 2), Buffer.from("yz")]).toString(), "abyz");
  assert.equal(joinParts([]).length, 0);
});
