import { lstatSync, readlinkSync } from "node:fs";
import { dirname, resolve } from "node:path";

const TMP_BYTES = 1024 ** 3;

/**
 * Of /etc only what programs need to run: no shadow, no keys, no configuration of the machine's services. Each is a mount,
 * and those are most of what the start of a process costs.
 */
const ETC = [
  ..."alternatives bash.bashrc hosts ld.so.cache localtime nsswitch.conf os-release pki/tls/certs pki/ca-trust".split(
    " ",
  ),
  ..."profile resolv.conf services ssl/certs ssl/openssl.cnf".split(" "),
];

let system: string[] | null = null;

/**
 * bubblewrap's options for programs and libraries of the machine, read-only; looked for once.
 *
 * @param accounts the descriptors that have the contents of /etc/passwd and /etc/group.
 */
export function systemFiles(accounts: { passwd: number; group: number }): string[] {
  system ??= [
    ...["--ro-bind", "/usr", "/usr"],
    ...["bin", "sbin", "lib", "lib32", "lib64", "libx32"].flatMap((name) => readOnly(`/${name}`)),
    ...ETC.flatMap((name) => readOnly(`/etc/${name}`)),
  ];
  return [
    ...system,
    ...foldersAbove("/etc/passwd"),
    ...["--perms", "0644", "--ro-bind-data", String(accounts.passwd), "/etc/passwd"],
    ...["--perms", "0644", "--ro-bind-data", String(accounts.group), "/etc/group"],
    ...["--dir", "/var", "--dir", "/run"],
  ];
}

/** As it is on this machine. What is a link into /usr, as /bin is on merged systems, stays one. */
function readOnly(path: string): string[] {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  if (entry === undefined) return [];
  const target = entry.isSymbolicLink() ? readlinkSync(path) : null;
  if (target !== null && resolve(dirname(path), target).startsWith("/usr/"))
    return ["--symlink", target, path];
  // It may go away while the agent runs.
  return [...foldersAbove(path), "--ro-bind-try", path, path];
}

/** Made by themselves they would be root's alone where root sets the sandbox up. Those that are there stay as they are. */
export function foldersAbove(path: string): string[] {
  const above: string[] = [];
  for (let folder = dirname(path); folder !== "/"; folder = dirname(folder)) above.unshift(folder);
  return above.flatMap((folder) => ["--perms", "0755", "--dir", folder]);
}

/**
 * A file system in memory.
 *
 * @param memory what all memory is limited to, in MiB: it is no larger than that.
 */
export function temporary(path: string, memory: number | null): string[] {
  const bytes = memory === null ? TMP_BYTES : Math.min(TMP_BYTES, memory * 1024 * 1024);
  return ["--perms", "1777", "--size", String(bytes), "--tmpfs", path];
}

/** Who the user of a sandbox is, for programs that ask by name. */
export const accountFiles = ({ name, id, home }: { name: string; id: number; home: string }) => ({
  passwd: `root:x:0:0::/:/usr/sbin/nologin\n${name}:x:${id}:${id}::${home}:/bin/sh\nnobody:x:65534:65534::/:/usr/sbin/nologin\n`,
  group: `root:x:0:\n${name}:x:${id}:\nnogroup:x:65534:\n`,
});
