import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { RunningServer } from "@keelson/server";

/** Signs the owner in, by the first start's session: as good as a password. */
export const loginLinkOf = ({ publicUrl, credentials }: RunningServer): string =>
  `${publicUrl}/#token=${credentials.user_token}&project_id=${credentials.project_id}&environment_id=${credentials.environment_id}`;

/** Where a service keeps the link, for its owner alone. Written beside and renamed, so that no other mode is ever seen. */
export async function keepLoginLink(dataDir: string, link: string): Promise<string> {
  const path = join(dataDir, "login-link");
  const temporary = `${path}.${process.pid}.tmp`;
  await rm(temporary, { force: true });
  await writeFile(temporary, `${link}\n`, { mode: 0o600, flag: "wx" });
  await rename(temporary, path);
  return path;
}
