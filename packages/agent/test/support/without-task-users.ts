import { HOST_ENTRY } from "../../src/task-hosts/host-process.ts";
import { findClosed } from "../../src/task-hosts/probe-task-uids.ts";

/** Why an agent of this checkout gives tasks no users of their own; false where it does. */
export async function withoutTaskUsers(): Promise<string | false> {
  if (process.getuid?.() !== 0) return "only an agent that runs as root gives tasks users of their own";
  const closed = [...(await findClosed(HOST_ENTRY)), ...(await findClosed(process.execPath))];
  return closed.length > 0 && "other users than root may not pass through the folder of this checkout";
}
