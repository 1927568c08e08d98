import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, rename, rm } from "node:fs/promises";

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** Whether the file is there whole: an earlier crash of the machine may have left it short. */
export async function hasDigest(path: string, digest: string): Promise<boolean> {
  const hash = createHash("sha256");
  try {
    for await (const part of createReadStream(path)) hash.update(part as Buffer);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
  return hash.digest("hex") === digest;
}

/** @throws Error when the bytes have another digest */
export function requireDigest(bytes: Uint8Array, digest: string): void {
  const actual = sha256(bytes);
  if (actual !== digest) throw new Error(`what was sent has the digest ${actual}`);
}

/** Two agents may share a folder: each writes a file of its own and moves it into place. */
export async function writeAtomically(path: string, bytes: Uint8Array, mode: number): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString("hex")}.partial`;
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(bytes);
      await file.chmod(mode);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
