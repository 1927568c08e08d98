import { spawn } from "node:child_process";

/**
 * Ends process groups when the agent dies. A host whose event loop is blocked cannot see that its agent is gone, so a
 * shell of a megabyte waits at the end of a pipe: when the agent ends in any way, it kills the groups that are left.
 */
const SCRIPT = `
trap '' HUP INT TERM
groups=" "
while read -r sign group; do
  case $sign in
    +) groups="$groups$group " ;;
    -) groups="\${groups%% $group *} \${groups#* $group }" ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group" 2>/dev/null; done
`;

export type GroupReaper = {
  add(group: number): void;
  remove(group: number): void;
  /** Ends the shell without killing anything that was removed before. */
  close(): void;
};

export function startGroupReaper(onError: (error: Error) => void): GroupReaper {
  const shell = spawn("/bin/sh", ["-c", SCRIPT], {
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
