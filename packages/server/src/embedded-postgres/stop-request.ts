// Tells an embedded server that was told to stop by somebody else from one that died.

import { setTimeout as sleep } from "node:timers/promises";
import { endPostmaster, type ClusterPlace, type RunningPostmaster } from "./postmaster.ts";
import { readPostmasterPid } from "./postmaster-pid.ts";

/** Each check reads a file, also while nobody uses the server. */
const CHECK_INTERVAL_MS = 1_000;

/**
 * Resolves when the server, or our connection to it, has gone, with whether it was told to stop. SIGTERM to it is a smart
 * shutdown, which lets nobody in and waits for those who are, so for us, for ever: it is made a fast one.
 */
export async function untilGone(
  place: ClusterPlace,
  { pid, child, gone }: RunningPostmaster,
): Promise<"told to stop" | "died"> {
  let isGone = false;
  void gone.then(() => (isGone = true));
  for (;;) {
    await Promise.race([gone, sleep(CHECK_INTERVAL_MS, undefined, { ref: false })]);
    const claim = await readPostmasterPid(place.clusterDir);
    // One that stops says so in its file, which it removes last; one that was killed leaves it as it was.
    const isStopping = claim === null || (claim.pid === pid && claim.status === "stopping");
    if (isStopping) {
      await endPostmaster(place, pid, child).catch((error: Error) => place.log(error.message));
      return "told to stop";
    }
    if (isGone) return "died";
  }
}
