import type { FileList } from "@keelson/contract";
import { LIMITS } from "@keelson/contract/plain";
import { useQueries, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { get } from "../../../api/client.ts";
import { usePlace, type Place } from "../../../api/place.ts";
import { at } from "../../../api/route.ts";
import { listWorkspaceFiles } from "../../../api/routes/workspace-files.ts";
import { immutableKey } from "../workspace-data.ts";
import { directoriesFirst, type Directory } from "./tree-rows.ts";

/** Of one directory. More than these nobody looks through; a path still opens any. */
const MAX_ENTRIES = 20_000;

type Loaded = Extract<Directory, { state: "loaded" }>;

async function readDirectory(
  place: Place,
  [workspaceId, versionId, path]: readonly [string, string, string],
  signal: AbortSignal,
): Promise<Loaded> {
  const entries: FileList["files"] = [];
  let cursor: string | null = null;
  do {
    const page: FileList = await get(
      at(listWorkspaceFiles, { workspace_id: workspaceId }),
      {
        ...place,
        source: "version",
        version_id: versionId,
        path,
        limit: LIMITS.workspaceFilesMax,
        cursor: cursor ?? undefined,
      },
      signal,
    );
    entries.push(...page.files);
    cursor = page.next_cursor;
  } while (cursor !== null && entries.length < MAX_ENTRIES);
  return { state: "loaded", entries: directoriesFirst(entries), hasMore: cursor !== null };
}

/** The entries of each of these directories of a version, read when they are first asked for. */
export function useDirectories(
  workspaceId: string,
  versionId: string,
  paths: readonly string[],
): Map<string, Directory> {
  const place = usePlace();
  const queries = useQueryClient();
  const before = useVersionBefore(versionId);
  const keyOf = (version: string, path: string): unknown[] =>
    immutableKey(place.environment_id, workspaceId, "directory", version, path);
  return useQueries({
    queries: paths.map((path) => ({
      queryKey: keyOf(versionId, path),
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        readDirectory(place, [workspaceId, versionId, path], signal),
      staleTime: "static" as const,
      // Until the new version's are known: nothing of the tree jumps when another version becomes current.
      placeholderData: () => queries.getQueryData<Loaded>(keyOf(before, path)),
    })),
    combine: (results) =>
      new Map(
        results.map(({ data, error }, index): [string, Directory] => [
          paths[index] ?? "",
          data ?? (error === null ? { state: "loading" } : { state: "failed", message: error.message }),
        ]),
      ),
  });
}

/** The version that was looked at before this one; this one at first. */
function useVersionBefore(versionId: string): string {
  const [versions, setVersions] = useState({ now: versionId, before: versionId });
  if (versions.now === versionId) return versions.before;
  setVersions({ now: versionId, before: versions.now });
  return versions.now;
}
