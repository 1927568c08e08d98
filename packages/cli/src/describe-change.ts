import { isDeepStrictEqual } from "node:util";
import type { DeploymentManifest } from "@keelson/contract";

const byId = (manifest: DeploymentManifest | null) =>
  new Map((manifest?.tasks ?? []).map((task) => [task.id, task]));

/** What a person sees of a new bundle: which tasks came, went and are declared otherwise. */
export function describeChange(before: DeploymentManifest | null, after: DeploymentManifest): string {
  const old = byId(before);
  const now = byId(after);
  const parts = [
    ...[...now.keys()].filter((id) => !old.has(id)).map((id) => `+${id}`),
    ...[...old.keys()].filter((id) => !now.has(id)).map((id) => `-${id}`),
    ...[...now]
      .filter(([id, task]) => old.has(id) && !isDeepStrictEqual(old.get(id), task))
      .map(([id]) => `~${id}`),
  ];
  return parts.length > 0 ? parts.join(" ") : "code only";
}
