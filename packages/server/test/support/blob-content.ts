// Blobs as a test puts and reads them.

import assert from "node:assert/strict";
import type { BlobStore } from "../../src/core/blobs/blob.ts";

export const text = (value: string): Uint8Array => new TextEncoder().encode(value);

export async function* chunks(...parts: string[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield text(part);
}

export async function contentOf(blobs: BlobStore, digest: string): Promise<string> {
  const blob = await blobs.read(digest);
  assert.ok(blob !== null);
  const parts: Uint8Array[] = [];
  for await (const part of blob.bytes) parts.push(part);
  const content = Buffer.concat(parts);
  assert.equal(content.length, blob.sizeBytes);
  return content.toString();
}
