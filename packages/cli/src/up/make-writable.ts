import { access, constants, mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { EXIT, ExitError } from "../exit-codes.ts";

/** Folder by folder: the recursive form of mkdir never ends where the system refuses a new folder with ENOENT, as /proc does. */
async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" && (await stat(folder)).isDirectory()) return;
    const isMissing = await access(dirname(folder)).then(
      () => false,
      () => true,
    );
    if (code !== "ENOENT" || !isMissing || dirname(folder) === folder) throw error;
    await makeFolder(dirname(folder));
    await mkdir(folder);
  }
}

/** Makes a folder that this account can write to, or says in one line that it cannot. */
export async function makeWritable(folder: string): Promise<void> {
  try {
    await makeFolder(folder);
    await access(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    const message = `Cannot write to ${folder}: make it writable, or set KEELSON_DATA_DIR to another folder`;
    throw new ExitError(EXIT.failure, message, { cause: error });
  }
}
