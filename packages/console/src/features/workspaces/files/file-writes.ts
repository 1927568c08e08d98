import type { WrittenFile } from "@keelson/contract";
import { ApiError } from "@keelson/sdk/browser";
import { send } from "../../../api/client.ts";
import type { Place } from "../../../api/place.ts";
import { at } from "../../../api/route.ts";
import { removeWorkspaceFile, writeWorkspaceFile } from "../../../api/routes/workspace-files.ts";

/** Of a file that is to be as it was read, or that is not to be there yet. */
export type WriteCondition = { digest: string } | "new";

export const writeFile = (
  place: Place,
  workspaceId: string,
  { path, text, condition }: { path: string; text: string; condition: WriteCondition | null },
): Promise<WrittenFile> =>
  send(at(writeWorkspaceFile, { workspace_id: workspaceId }), {
    query: { ...place, path },
    body: new TextEncoder().encode(text),
    ...(condition !== null && {
      headers: condition === "new" ? { "if-none-match": "*" } : { "if-match": `"${condition.digest}"` },
    }),
  });

/** `digest` null: whatever is there, such as a directory. */
export const deleteFile = (
  place: Place,
  workspaceId: string,
  { path, digest }: { path: string; digest: string | null },
): Promise<WrittenFile> =>
  send(at(removeWorkspaceFile, { workspace_id: workspaceId }), {
    query: { ...place, path },
    ...(digest !== null && { headers: { "if-match": `"${digest}"` } }),
  });

/** Somebody else changed the file since it was read. */
export const isConflict = (error: unknown): boolean =>
  error instanceof ApiError && error.code === "precondition_failed";
