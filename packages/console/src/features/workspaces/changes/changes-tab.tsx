import type { DiffEntry, Workspace } from "@keelson/contract";
import { useInfiniteQuery, type InfiniteData } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { VersionDiff } from "@keelson/contract";
import { get } from "../../../api/client.ts";
import { usePlace } from "../../../api/place.ts";
import { at } from "../../../api/route.ts";
import { diffWorkspaceVersion } from "../../../api/routes/workspace-files.ts";
import { Async } from "../../../ui/async.tsx";
import { Button } from "../../../ui/button.tsx";
import { cx } from "../../../ui/class-names.ts";
import { Empty } from "../../../ui/empty.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import { useWorkspaceSearch } from "../use-workspace-search.ts";
import { VersionSelect } from "../version-select.tsx";
import { immutableKey } from "../workspace-data.ts";
import { ChangeView } from "./change-view.tsx";

/** What changed from one version to another: the paths at the left, what happened to one at the right. */
export function ChangesTab({ workspace }: { workspace: Workspace }): ReactNode {
  const [{ version, base, path }, change] = useWorkspaceSearch();
  const versionId = version ?? workspace.current_version_id;
  const result = useChanges(workspace.id, versionId, base);
  return (
    <div className="flex h-full min-h-0 flex-col gap-3">
      <div className="flex flex-wrap items-end gap-3">
        <VersionSelect
          label="From"
          workspace={workspace}
          value={base}
          emptyLabel="Previous version"
          onChange={(next) => change({ base: next })}
        />
        <VersionSelect
          label="To"
          workspace={workspace}
          value={version}
          emptyLabel="Current"
          onChange={(next) => change({ version: next })}
        />
      </div>
      <Async result={result}>
        {({ pages }) => (
          <Changes
            pages={pages}
            workspaceId={workspace.id}
            selected={path ?? null}
            onSelect={(next) => change({ path: next })}
            more={
              result.hasNextPage ? (
                <Button isBusy={result.isFetchingNextPage} onClick={() => void result.fetchNextPage()}>
                  Show more
                </Button>
              ) : null
            }
          />
        )}
      </Async>
    </div>
  );
}

function useChanges(workspaceId: string, versionId: string, base: string | undefined) {
  const place = usePlace();
  const route = at(diffWorkspaceVersion, { workspace_id: workspaceId, version_id: versionId });
  return useInfiniteQuery<VersionDiff, Error, InfiniteData<VersionDiff>, unknown[], string | undefined>({
    queryKey: immutableKey(place.environment_id, route.path, base),
    queryFn: ({ pageParam, signal }) => get(route, { ...place, base, limit: 500, cursor: pageParam }, signal),
    initialPageParam: undefined,
    getNextPageParam: ({ next_cursor: cursor }) => cursor ?? undefined,
    staleTime: "static",
  });
}

function Changes({
  pages,
  workspaceId,
  selected,
  onSelect,
  more,
}: {
  pages: readonly VersionDiff[];
  workspaceId: string;
  selected: string | null;
  onSelect: (path: string) => void;
  more: ReactNode;
}): ReactNode {
  const changes = pages.flatMap((page) => page.changes);
  const first = pages[0];
  if (first === undefined || changes.length === 0)
    return (
      <Empty title="Both versions have the same files">
        Run a command, use a terminal or edit a file to see its changes here.
      </Empty>
    );
  const shown = changes.find(({ path }) => path === selected) ?? changes[0];
  return (
    <div className="grid min-h-80 flex-1 grid-rows-[minmax(6rem,1fr)_minmax(0,3fr)] overflow-hidden rounded-lg border border-line bg-surface md:grid-cols-[minmax(12rem,20rem)_minmax(0,1fr)] md:grid-rows-1">
      <nav
        aria-label="Changed files"
        className="flex min-h-0 min-w-0 flex-col overflow-auto border-line p-1 max-md:border-b md:border-r"
      >
        <p className="px-2 py-1 text-xs text-quiet">{summaryOf(changes, more !== null)}</p>
        {changes.map((change) => (
          <ChangeButton
            key={change.path}
            change={change}
            isShown={change === shown}
            onClick={() => onSelect(change.path)}
          />
        ))}
        {more}
      </nav>
      <div className="flex min-h-0 min-w-0 flex-col">
        {shown !== undefined && (
          <ChangeView
            key={`${first.base_version_id ?? ""} ${first.version_id} ${shown.path}`}
            change={shown}
            compared={{ workspaceId, versionId: first.version_id, baseId: first.base_version_id }}
          />
        )}
      </div>
    </div>
  );
}

function summaryOf(changes: readonly DiffEntry[], hasMore: boolean): string {
  const count = (kind: DiffEntry["change"]): number => changes.filter(({ change }) => change === kind).length;
  const text = `${count("added")} added, ${count("modified")} changed, ${count("removed")} removed`;
  return hasMore ? `${text} so far` : text;
}

const MARKS: Record<DiffEntry["change"], readonly [letter: string, className: string, word: string]> = {
  added: ["A", "text-good", "added"],
  modified: ["M", "text-warn", "changed"],
  removed: ["R", "text-bad", "removed"],
};

function ChangeButton({
  change,
  isShown,
  onClick,
}: {
  change: DiffEntry;
  isShown: boolean;
  onClick: () => void;
}): ReactNode {
  const [letter, className, word] = MARKS[change.change];
  const path = visibleText(change.path);
  return (
    <button
      type="button"
      aria-current={isShown || undefined}
      title={`${path}, ${word}`}
      onClick={onClick}
      className="flex items-center gap-2 rounded px-2 py-1 text-left text-sm hover:bg-raised aria-[current]:bg-accent-ground"
    >
      <abbr
        title={word}
        className={cx("w-3 shrink-0 text-center font-mono text-xs font-semibold no-underline", className)}
      >
        {letter}
      </abbr>
      <bdi dir="ltr" className="truncate">
        {path}
      </bdi>
    </button>
  );
}
