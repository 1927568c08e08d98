// Notices that npm was killed, which nothing tells of. Plain JavaScript without dependencies, see find-node.mjs.

import { readFileSync } from "node:fs";

const CHECK_MS = 500;

/** What started a process; null where nothing says, as on a Mac. */
function parentOf(pid) {
  try {
    // The name, in brackets, may itself have brackets and spaces.
    const afterName = readFileSync(`/proc/${pid}/stat`, "latin1").replace(/^.*\) /s, "");
    return Number(afterName.split(" ", 2)[1]);
  } catch {
    return null;
  }
}

/**
 * Calls `onGone` once npm has gone. npm ends before its scripts only when it was killed. It starts them by a shell, and
 * on Linux that shell stays and outlives npm: then another process has become the shell's parent.
 */
export function watchNpm(onGone) {
  // Whoever starts us without npm may end and leave us running on purpose.
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const grandparent = parentOf(parent);
  const check = setInterval(() => {
    if (process.ppid === parent && parentOf(parent) === grandparent) return;
    clearInterval(check);
    onGone();
  }, CHECK_MS);
  check.unref();
}
