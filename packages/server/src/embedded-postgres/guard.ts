// Ends a server whose Keelson has gone without a word: a shell that waits at the end of a pipe, which the kernel closes.

import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import type { ClusterPlace } from "./postmaster.ts";

/** In which the next Keelson may take the server over, so that one that is started again at once need not wait for it. */
const TAKE_OVER_S = 5;
const OWNER_NAME = "owner";

// What Keelson is told to end with is not for this shell. Nothing is done when another Keelson is the owner by then, or the
// process is not the server of the folder any more.
const SCRIPT = `
trap '' HUP INT QUIT TERM
server=
while read -r pid; do server=$pid; done
[ -n "$server" ] || exit 0
sleep ${TAKE_OVER_S}
read -r owner < "$1" && [ "$owner" = "$2" ] || exit 0
read -r pid < "$3" && [ "$pid" = "$server" ] || exit 0
kill -s INT "$server"
`;

export type PostmasterGuard = {
  /** Guards this process from now on, instead of another. */
  watch(pid: number): Promise<void>;
  /** Nothing is left to guard. */
  close(): void;
};

export function startPostmasterGuard({ clusterDir, log }: ClusterPlace): PostmasterGuard {
  const ownerFile = path.join(path.dirname(clusterDir), OWNER_NAME);
  const token = randomUUID();
  let guarded: number | null = null;
  let closed = false;
  let shell = start();

  function start(): ChildProcess {
    const files = [ownerFile, token, path.join(clusterDir, "postmaster.pid")];
    const started = spawn("/bin/sh", ["-c", SCRIPT, "sh", ...files], {
      stdio: ["pipe", "ignore", "ignore"],
      detached: true,
      cwd: "/",
      env: {},
    });
    started.on("error", (error) => log(`PostgreSQL is not guarded: ${error.message}`));
    started.stdin?.on("error", () => undefined); // Its end follows.
    started.on("exit", () => {
      if (closed) return;
      shell = start();
      tell(guarded);
    });
    started.unref();
    return started;
  }

  const tell = (pid: number | null): void => void shell.stdin?.write(`${pid ?? ""}\n`);

  return {
    async watch(pid) {
      guarded = pid;
      await writeFile(ownerFile, `${token}\n`, { mode: 0o600 });
      tell(pid);
    },
    close() {
      closed = true;
      tell(null);
      shell.stdin?.end();
    },
  };
}
