import { encodeId } from "@keelson/contract";
import type { Affected, MissingBlob } from "@keelson/server";
import { countOf } from "./terminal/count-of.ts";

const whereOf = ({ environment_id: id }: MissingBlob): string =>
  id === null ? "a bundle" : `environment ${encodeId("env", id)}`;

/** What a backup lacks, and what to do. */
export const describeMissing = (blobs: readonly MissingBlob[]): string =>
  [
    `The backup is complete except for ${countOf(blobs.length, "blob")} whose content is lost:`,
    ...blobs.map((blob) => `  ${blob.digest} (${blob.problem}, ${whereOf(blob)})`),
    "Restore their files from an older backup, or commit or upload the same content again, then make another backup.",
  ].join("\n");

/** What cannot be read after a restore. */
export function describeAffected(affected: Affected): string {
  const things = [
    ...affected.workspaces.map((id) => `versions of workspace ${encodeId("ws", id)}`),
    ...affected.deployments.map((id) => `deployment ${encodeId("dep", id)}`),
    ...affected.runs.map((id) => `logs of run ${encodeId("run", id)}`),
    ...affected.sessions.map((id) => `files of session ${encodeId("sess", id)}`),
  ];
  return `The blob ${affected.digest} was ${affected.problem} when the backup was made. Affected: ${things.join(", ") || "nothing that is still used"}.`;
}
