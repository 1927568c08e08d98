import type { DeploymentManifest } from "@keelson/contract";
import { ApiError } from "@keelson/sdk";
import { EXIT, ExitError } from "./exit-codes.ts";

/** `manifest.schedules.0.cron`: the list, the place in it, and the field. */
const PLACE = /^manifest\.(tasks|actors|queues|schedules|sandboxes)\.(\d+)\.(.+)$/;
const NOUNS = {
  tasks: "task",
  actors: "actor",
  queues: "queue",
  schedules: "schedule",
  sandboxes: "sandbox",
};

/** A place of the manifest by the names that the code has: `schedule "nightly", cron`. */
function placeInCode(path: string, manifest: DeploymentManifest): string {
  const [, list, index, field] = PLACE.exec(path) ?? [];
  if (list === undefined || index === undefined || field === undefined) return path;
  const declared = manifest[list as keyof typeof NOUNS]?.[Number(index)];
  if (declared === undefined) return path;
  const name = "id" in declared ? declared.id : declared.name;
  return `${NOUNS[list as keyof typeof NOUNS]} "${name}", ${field}`;
}

/** What the server does not take of a manifest, for the person who wrote the code; any other error as it is. */
export function explainRefusal(error: unknown, manifest: DeploymentManifest): unknown {
  if (!(error instanceof ApiError) || !error.issues.some(({ path }) => PLACE.test(path))) return error;
  const lines = error.issues.map(({ path, message }) => `  ${placeInCode(path, manifest)}: ${message}`);
  return new ExitError(EXIT.failure, `The server does not take the deployment\n${lines.join("\n")}`, {
    cause: error,
  });
}
