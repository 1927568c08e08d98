import type { ExpectedFolder } from "./frames.ts";
import { statSync } from "./node-fs.ts";

/** Whether a path is what the agent found there. */
export function isAsExpected({ path, identity }: ExpectedFolder): boolean {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found !== undefined && `${found.dev}:${found.ino}` === identity;
}
