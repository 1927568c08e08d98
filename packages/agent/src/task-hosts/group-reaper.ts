import { spawn } from "node:child_process";

/**
 * Ends process groups when the agent dies. A host whose event loop is blocked cannot see that its agent is gone, so a
 * shell of a megabyte waits at the end of a pipe: when the agent ends in any way, it kills the groups that are left, and
 * then what bears the agent's mark and has left them, until a look finds nothing. Its own environment is empty.
 */
const LOOKS = 1000;
const SCRIPT = `
trap '' HUP INT QUIT TERM
groups=" "
while read -r sign group; do
  case $sign in
    +) groups="$groups$group " ;;
    -) groups="\${groups%% $group *} \${groups#* $group }" ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group" 2>/dev/null; done
looks=0
while [ -n "$1" ] && [ $looks -lt ${LOOKS} ]; do
  found=$(grep -lsF -- "$1" /proc/[0-9]*/environ)
  [ -n "$found" ] || break
  for file in $found; do
    pid=\${file#/proc/}
    kill -s KILL "\${pid%/environ}" 2>/dev/null
  done
  looks=$((looks + 1))
done
`;

export type GroupReaper = {
  add(group: number): void;
  remove(group: number): void;
  /** Ends the shell without killing anything that was removed before. */
  close(): void;
};

/** @param mark what is looked for in environments; null ends groups alone. */
export function startGroupReaper(mark: string | null, onError: (error: Error) => void): GroupReaper {
  const shell = spawn("/bin/sh", ["-c", SCRIPT, "keelson-reaper", mark ?? ""], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
    env: {},
  });
  shell.on("error", onError);
  shell.stdin.on("error", onError);
  shell.unref();
  return {
    add: (group) => void shell.stdin.write(`+ ${group}\n`),
    remove: (group) => void shell.stdin.write(`- ${group}\n`),
    close: () => shell.stdin.end(),
  };
}
