import { HOST_ENTRY } from "../../src/task-hosts/host-process.ts";
import { findClosed } from "../../src/task-hosts/probe-task-uids.ts";

/** Why programs of this checkout cannot run as other users; false where they can. */
export async function withoutOtherUsers(): Promise<string | false> {
  if (process.getuid?.() !== 0) return "only root runs programs as other users";
  const closed = [...(await findClosed(HOST_ENTRY)), ...(await findClosed(process.execPath))];
  return closed.length > 0 && "other users than root may not pass through the folder of this checkout";
}
