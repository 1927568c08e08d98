// A folder for a test, and a blob store in memory that can be damaged.

import { execFileSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after } from "node:test";
import { makeTestFolder, removeTestFolder } from "../../server/test/support/test-folder.ts";

export type MemoryBlobs = {
  readonly stored: Map<string, Uint8Array>;
  put(digest: string, bytes: Uint8Array): Promise<void>;
  get(digest: string): Promise<Uint8Array | null>;
};

export function memoryBlobs(): MemoryBlobs {
  const stored = new Map<string, Uint8Array>();
  return {
    stored,
    put: async (digest, bytes) => void stored.set(digest, Buffer.from(bytes)),
    get: async (digest) => stored.get(digest) ?? null,
  };
}

export function testFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), "keelson-tree-"));
  // Node cannot remove what is too deep to be named by a path.
  after(() => execFileSync("rm", ["-rf", folder]));
  return folder;
}

/** In memory: a disk's file system takes twice as long for thousands of folders in each other, or more while it is busy. */
export async function memoryFolder(): Promise<string> {
  const folder = await makeTestFolder();
  after(() => removeTestFolder(folder));
  return folder;
}
