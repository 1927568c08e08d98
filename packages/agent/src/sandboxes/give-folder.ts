import { lchown, readdir } from "node:fs/promises";
import { join } from "node:path";

/** Makes a uid the owner of a folder and of everything in it; symlinks themselves, never what they point to. */
export async function giveFolder(path: string, uid: number): Promise<void> {
  await lchown(path, uid, uid);
  for (const entry of await readdir(path, { withFileTypes: true })) {
    const child = join(path, entry.name);
    if (entry.isDirectory()) await giveFolder(child, uid);
    else await lchown(child, uid, uid);
  }
}
