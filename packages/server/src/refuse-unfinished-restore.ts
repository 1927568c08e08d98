import { access } from "node:fs/promises";
import { join } from "node:path";

/** In a data folder from the first moment of a restore to the last. */
export const UNFINISHED_RESTORE = "restore-unfinished";

/** @throws Error when what is in the folder may be half of a backup. */
export async function refuseUnfinishedRestore(dataDir: string): Promise<void> {
  const isUnfinished = await access(join(dataDir, UNFINISHED_RESTORE)).then(
    () => true,
    () => false,
  );
  if (isUnfinished)
    throw new Error(
      `A restore into ${dataDir} did not finish, so its data is incomplete. Empty the folder and run \`keelson restore\` again.`,
    );
}
