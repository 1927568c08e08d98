import { getRouteApi } from "@tanstack/react-router";
import { useCallback } from "react";
import { readWorkspaceSearch, type WorkspaceSearch } from "./workspace-search.ts";

const route = getRouteApi("/signed-in/e/$environmentId/workspaces/$workspaceId");

/** Undefined takes a part out of the address; what is not named stays. */
export type SearchChange = { [Key in keyof WorkspaceSearch]?: WorkspaceSearch[Key] | undefined };

/** What the address says is looked at, and how to look at something else. `replace` makes no step to go back to. */
export function useWorkspaceSearch(): [
  WorkspaceSearch,
  (change: SearchChange, options?: { replace?: boolean }) => void,
] {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = useCallback(
    (next: SearchChange, { replace = false }: { replace?: boolean } = {}) => {
      void navigate({ search: (before) => withChange(before, next), replace, resetScroll: false });
    },
    [navigate],
  );
  return [search, change];
}

const withChange = (search: WorkspaceSearch, change: SearchChange): WorkspaceSearch =>
  readWorkspaceSearch({ ...search, ...change });
