import type { Workspace } from "@keelson/contract";
import { FilePlus } from "lucide-react";
import { useState, type ReactNode } from "react";
import { Button } from "../../../ui/button.tsx";
import { Empty } from "../../../ui/empty.tsx";
import { useWorkspaceSearch } from "../use-workspace-search.ts";
import { VersionSelect } from "../version-select.tsx";
import { isOnMachine } from "../workspace-data.ts";
import { FileTree } from "./file-tree.tsx";
import { FileView } from "./file-view.tsx";
import { NewFile } from "./new-file.tsx";
import { ancestorsOf } from "./tree-rows.ts";
import { useDirectories } from "./use-directories.ts";

/** The files of a version: the tree at the left, the open file at the right. */
export function FilesTab({ workspace }: { workspace: Workspace }): ReactNode {
  const [search, change] = useWorkspaceSearch();
  const { version, path = null } = search;
  const versionId = version ?? workspace.current_version_id;
  const [expanded, setExpanded] = useExpanded(path);
  const [isNew, setIsNew] = useState(false);
  const directories = useDirectories(workspace.id, versionId, ["", ...expanded]);
  const root = directories.get("");
  const isEmpty = root?.state === "loaded" && root.entries.length === 0;
  const canWrite = version === undefined && !isOnMachine(workspace);
  const open = (next: string | undefined): void => {
    setIsNew(false);
    change({ path: next });
  };
  return (
    <div className="flex h-full min-h-0 flex-col gap-3">
      <FilesBar
        workspace={workspace}
        version={version}
        canWrite={canWrite}
        onVersion={(next) => change({ version: next })}
        onNew={() => setIsNew(true)}
      />
      <div className="grid min-h-80 flex-1 grid-rows-[minmax(8rem,2fr)_minmax(0,3fr)] overflow-hidden rounded-lg border border-line bg-surface md:grid-cols-[minmax(12rem,20rem)_minmax(0,1fr)] md:grid-rows-1">
        <div className="flex min-h-0 min-w-0 flex-col border-line max-md:border-b md:border-r">
          {isEmpty ? (
            <p className="p-4 text-quiet">No files in this version.</p>
          ) : (
            <FileTree
              directories={directories}
              expanded={expanded}
              selected={path}
              onOpen={open}
              onToggle={(directory, isExpanded) => {
                const next = new Set(expanded);
                if (isExpanded) next.add(directory);
                else next.delete(directory);
                setExpanded(next);
              }}
            />
          )}
        </div>
        <div className="flex min-h-0 min-w-0 flex-col">
          {isNew && canWrite ? (
            <NewFile workspaceId={workspace.id} onDone={open} onCancel={() => setIsNew(false)} />
          ) : path === null ? (
            <div className="m-auto p-4">
              <Empty title={isEmpty ? "This version is empty" : "Open a file"}>
                {isEmpty
                  ? "Run a command, open a terminal or create a file. Each creates a version."
                  : "Select a file to see its text, picture or bytes."}
              </Empty>
            </div>
          ) : (
            <FileView
              key={`${version ?? "current"} ${path}`}
              workspace={workspace}
              versionId={versionId}
              path={path}
              canWrite={canWrite}
              whyNot={whyNot(version)}
              onGone={() => open(undefined)}
            />
          )}
        </div>
      </div>
    </div>
  );
}

function FilesBar({
  workspace,
  version,
  canWrite,
  onVersion,
  onNew,
}: {
  workspace: Workspace;
  version: string | undefined;
  canWrite: boolean;
  onVersion: (versionId: string | undefined) => void;
  onNew: () => void;
}): ReactNode {
  return (
    <div className="flex flex-wrap items-end gap-3">
      <VersionSelect
        label="Version"
        workspace={workspace}
        value={version}
        emptyLabel="Current"
        onChange={onVersion}
      />
      <Button
        icon={<FilePlus size={15} aria-hidden />}
        disabled={!canWrite}
        title={canWrite ? undefined : whyNot(version)}
        onClick={onNew}
      >
        New file
      </Button>
      {isOnMachine(workspace) && version === undefined && (
        <p className="py-1.5 text-sm text-quiet">
          {workspace.materialization?.status === "uncommitted"
            ? "This is the last version. Files that a worker holds appear here after they are committed."
            : "The workspace is live on a worker. Changes appear here when a command or terminal ends, or when the workspace stops."}
        </p>
      )}
    </div>
  );
}

const whyNot = (version: string | undefined): string =>
  version === undefined
    ? "The workspace is live on a worker. Stop it to edit files here"
    : "Versions never change. Open the current version to edit files";

/** Which directories are open: those that somebody opened, and those around a file that the address names. */
function useExpanded(path: string | null): [ReadonlySet<string>, (next: ReadonlySet<string>) => void] {
  const [expanded, setExpanded] = useState<ReadonlySet<string>>(() => new Set(ancestorsOf(path ?? "")));
  const [seenPath, setSeenPath] = useState(path);
  if (path !== seenPath) {
    setSeenPath(path);
    setExpanded(new Set([...expanded, ...ancestorsOf(path ?? "")]));
  }
  return [expanded, setExpanded];
}
