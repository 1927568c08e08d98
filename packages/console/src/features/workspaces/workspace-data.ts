import type { Workspace, WorkspaceVersion } from "@keelson/contract";
import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useEffect } from "react";
import { get } from "../../api/client.ts";
import { usePlace } from "../../api/place.ts";
import { useItem } from "../../api/use-item.ts";
import { useList, type List } from "../../api/use-list.ts";
import { at } from "../../api/route.ts";
import { getWorkspace, getWorkspaceVersion, listWorkspaceVersions } from "../../api/routes/workspaces.ts";

export const useWorkspace = (id: string): UseQueryResult<Workspace> =>
  useItem(at(getWorkspace, { workspace_id: id }), { refetchMs: 2000 });

/** Of what never changes, such as what is in a version: kept, and not read again when something else was done. */
export const immutableKey = (environmentId: string, ...parts: unknown[]): unknown[] => [
  "immutable",
  environmentId,
  ...parts,
];

export function useVersion(workspaceId: string, versionId: string): UseQueryResult<WorkspaceVersion> {
  const place = usePlace();
  const route = at(getWorkspaceVersion, { workspace_id: workspaceId, version_id: versionId });
  return useQuery<WorkspaceVersion>({
    queryKey: immutableKey(place.environment_id, route.path),
    queryFn: ({ signal }) => get(route, place, signal),
    staleTime: "static",
  });
}

/** Newest first; read again when another version has become the current one. */
export function useVersions({ id, current_version_id: current }: Workspace): List<WorkspaceVersion> {
  const list = useList(at(listWorkspaceVersions, { workspace_id: id }), { limit: 200 });
  const { refetch, isPending } = list;
  const isKnown = list.rows.some((version) => version.id === current);
  useEffect(() => {
    if (!isPending && !isKnown) refetch();
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- once for each version
  }, [current]);
  return list;
}

/** Something runs in it or is about to: its files are changed there, and not by the console. */
export const isOnMachine = ({ materialization }: Workspace): boolean =>
  materialization !== null && materialization.status !== "stopped" && materialization.status !== "failed";
