import { createHash } from "node:crypto";
import { PIECE_BYTES, sealPiece, type BlobSink } from "./piece.ts";
import type { Extent } from "./tree.ts";
import { TreeError } from "./tree-error.ts";

export type StoredContent = {
  readonly size: number;
  readonly digest: string;
  readonly extents: readonly Extent[];
  /** The pieces it is in. */
  readonly blobs: readonly string[];
};

/**
 * Stores the content of one file as it comes, holding no more than a piece of it.
 *
 * @throws TreeError `too_large` past `maxBytes`.
 */
export async function storeContent(
  content: AsyncIterable<Uint8Array>,
  sink: BlobSink,
  maxBytes: number,
): Promise<StoredContent> {
  const whole = createHash("sha256");
  const extents: Extent[] = [];
  let size = 0;
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  const store = async (): Promise<void> => {
    if (heldBytes === 0) return;
    const piece = await sealPiece(Buffer.concat(held));
    await sink.put(piece.digest, piece.bytes);
    extents.push({ blob: piece.digest, offset: 0, length: heldBytes });
    held = [];
    heldBytes = 0;
  };
  for await (const chunk of content) {
    size += chunk.byteLength;
    if (size > maxBytes)
      throw new TreeError("too_large", `The content is over ${maxBytes} bytes; make it smaller.`, {
        limit_bytes: maxBytes,
      });
    whole.update(chunk);
    for (let at = 0; at < chunk.byteLength;) {
      const part = chunk.subarray(at, at + PIECE_BYTES - heldBytes);
      held.push(part);
      heldBytes += part.byteLength;
      at += part.byteLength;
      if (heldBytes === PIECE_BYTES) await store();
    }
  }
  await store();
  return { size, digest: whole.digest("hex"), extents, blobs: [...new Set(extents.map(({ blob }) => blob))] };
}
