import { createHash } from "node:crypto";
import type { BundleFormatVersion, ExecutionMode, Isolation, SecretVersion } from "@keelson/contract";
import type { FoundFolder } from "./declared-folders.ts";
import type { TaskUser } from "./task-users.ts";

/** Which version of each declared secret a process has, by name. */
export type SecretVersions = Readonly<Record<string, SecretVersion>>;

/**
 * Everything that one process has for good: its runs are of this environment, and are given these versions. All other
 * things that differ between runs are given to each of them.
 */
export type HostSpec = {
  /** Unique in the installation. */
  environmentId: string;
  /** Null: the agent's own. */
  user: TaskUser | null;
  secrets: SecretVersions;
  digest: string;
  format: BundleFormatVersion;
  /** The folder that has the bundle's files. */
  bundleRoot: string;
  /** The module to import. */
  bundlePath: string;
  mode: ExecutionMode;
  /** Null: Node's default heap and no watch. */
  memoryMb: number | null;
  isolation: Isolation;
  /** Of the machine, that it sees in the namespace tier. */
  folders: readonly FoundFolder[];
};

/** Hosts with one key can stand in for each other. No value is in it, so it may be logged. */
export const hostKey = (spec: HostSpec): string =>
  [
    ...[spec.environmentId, spec.user?.uid ?? "", spec.mode, spec.digest],
    ...[spec.memoryMb ?? "", digestOf(spec.secrets), spec.isolation, digestOfFolders(spec.folders)],
  ].join(":");

const digestOfFolders = (folders: HostSpec["folders"]): string =>
  folders.length === 0 ? "" : createHash("sha256").update(JSON.stringify(folders)).digest("hex");

function digestOf(secrets: SecretVersions): string {
  const names = Object.keys(secrets).toSorted();
  if (names.length === 0) return "";
  const lines = names.map((name) => `${name} ${secrets[name]?.id} ${secrets[name]?.version}`);
  return createHash("sha256").update(lines.join("\n")).digest("hex");
}

/**
 * Whether a lease with these versions shows that `held` are old. An attempt that is leased again brings the versions it
 * began with, which says nothing of newer ones. A secret that was deleted has no versions left to be leased, so another
 * id under the name is a newer secret.
 */
export const areSuperseded = (held: SecretVersions, leased: SecretVersions): boolean =>
  Object.entries(held).some(([name, { id, version }]) => {
    const other = leased[name];
    return other !== undefined && (other.id !== id || other.version > version);
  });
