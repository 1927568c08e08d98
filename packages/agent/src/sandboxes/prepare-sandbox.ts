import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SupervisorOptions } from "../supervisor/calls.ts";
import { accountFiles } from "./bubblewrap-arguments.ts";
import { giveFolder } from "./give-folder.ts";
import { chooseUid, type Sandbox } from "./sandbox.ts";
import { buildSeccompFilter } from "./seccomp-filter.ts";

type Preparation = Pick<
  SupervisorOptions,
  "materializationId" | "folder" | "surroundings" | "means" | "limits"
>;

/** Makes what a workspace's sandbox needs: its own uid over the files, and what bubblewrap reads. */
export async function prepareSandbox(options: Preparation): Promise<Sandbox> {
  const { materializationId, folder, surroundings, means, limits } = options;
  const uid = chooseUid(means, surroundings, materializationId);
  if (uid !== null) await giveFolder(surroundings.root, uid);
  const sandbox: Sandbox = { materializationId, means, surroundings, limits, uid, folder, files: [] };
  if (surroundings.isolation !== "namespace") return sandbox;
  const { passwd, group } = accountFiles(sandbox);
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
