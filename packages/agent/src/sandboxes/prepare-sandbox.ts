import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SupervisorOptions } from "../supervisor/calls.ts";
import { workspaceAccounts } from "./bubblewrap-arguments.ts";
import { chooseUid, type Sandbox } from "./sandbox.ts";
import { buildSeccompFilter } from "./seccomp-filter.ts";

type Preparation = Pick<
  SupervisorOptions,
  "materializationId" | "folder" | "surroundings" | "means" | "limits"
>;

/** Makes what a workspace's sandbox needs besides its files (see `giveToSandbox`): its uid, and what bubblewrap reads. */
export function prepareSandbox(options: Preparation): Sandbox {
  const { materializationId, folder, surroundings, means, limits } = options;
  const uid = chooseUid(means, surroundings, materializationId);
  const sandbox: Sandbox = {
    ...{ materializationId, means, surroundings, limits, uid, folder, files: [] },
    noNewPrivileges: hasNoNewPrivileges(),
  };
  if (surroundings.isolation !== "namespace") return sandbox;
  const { passwd, group } = workspaceAccounts(sandbox);
  const pinned = means.tools.taskset !== null && surroundings.resources.cpu !== null;
  // In the order of their descriptors.
  const contents = { seccomp: buildSeccompFilter(process.arch, { pinned }), passwd, group };
  sandbox.files = Object.entries(contents).map(([name, content]) => {
    const path = join(folder, name);
    writeFileSync(path, content);
    chmodSync(path, 0o600);
    return path;
  });
  return sandbox;
}

function hasNoNewPrivileges(): boolean {
  try {
    return /^NoNewPrivs:\t1$/m.test(readFileSync("/proc/self/status", "latin1"));
  } catch {
    // Not on Linux.
    return false;
  }
}
