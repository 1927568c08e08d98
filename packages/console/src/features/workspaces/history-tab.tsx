import type { Workspace, WorkspaceVersion } from "@keelson/contract";
import { Link } from "@tanstack/react-router";
import { FileDiff, FolderTree, GitFork, GitCompare, RotateCcw } from "lucide-react";
import type { ReactNode } from "react";
import { send } from "../../api/client.ts";
import { usePlace } from "../../api/place.ts";
import { useAction } from "../../api/use-action.ts";
import { at } from "../../api/route.ts";
import { restoreWorkspaceVersion } from "../../api/routes/workspaces.ts";
import { Loading } from "../../ui/async.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Id } from "../../ui/copy-button.tsx";
import { describeBytes } from "../../ui/describe-bytes.ts";
import { ConfirmButton } from "../../ui/dialog.tsx";
import { ErrorPanel } from "../../ui/error-panel.tsx";
import { Time } from "../../ui/time.tsx";
import { causeName } from "./describe-workspace.ts";
import { useWorkspaceSearch } from "./use-workspace-search.ts";
import { isOnMachine, useVersions } from "./workspace-data.ts";
import { countOf } from "../../ui/count-of.ts";

/** The versions as a line, the current one first: what made each, and what can be done with it. */
export function HistoryTab({ workspace }: { workspace: Workspace }): ReactNode {
  const list = useVersions(workspace);
  if (list.error !== null) return <ErrorPanel error={list.error} onRetry={list.refetch} />;
  if (list.isPending) return <Loading />;
  return (
    <div className="flex flex-col gap-3">
      <ol aria-label="Versions" className="flex flex-col">
        {list.rows.map((version) => (
          <VersionItem key={version.id} version={version} workspace={workspace} />
        ))}
      </ol>
      {list.hasMore && (
        <div>
          <Button onClick={list.loadMore} isBusy={list.isLoadingMore}>
            Show more
          </Button>
        </div>
      )}
    </div>
  );
}

function VersionItem({ version, workspace }: { version: WorkspaceVersion; workspace: Workspace }): ReactNode {
  const isCurrent = version.id === workspace.current_version_id;
  return (
    <li className="relative flex flex-wrap items-start gap-x-4 gap-y-2 border-l-2 border-line pb-5 pl-5 last:pb-0">
      <span
        aria-hidden
        className={`absolute top-1.5 -left-[7px] size-3 rounded-full border-2 border-surface ${isCurrent ? "bg-accent" : "bg-quiet"}`}
      />
      <div className="min-w-0 flex-1 basis-64">
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <span className="font-semibold">#{version.number}</span>
          <Cause version={version} />
          {isCurrent && <Badge tone="accent">Current</Badge>}
          <span className="text-quiet">
            <Time at={version.created_at} />
          </span>
        </p>
        <p className="flex flex-wrap items-center gap-x-3 text-sm text-quiet">
          <Id value={version.id} />
          {describeBytes(version.size_bytes)} in {countOf(version.file_count, "file")}
        </p>
      </div>
      <VersionActions version={version} workspace={workspace} isCurrent={isCurrent} />
    </li>
  );
}

const CAUSE_LINK = "text-accent underline underline-offset-2";

/** What made it, with the way there. */
function Cause({ version }: { version: WorkspaceVersion }): ReactNode {
  const { environment_id: environmentId } = usePlace();
  const { kind, id } = version.cause;
  const name = causeName(version);
  const params = { environmentId, workspaceId: version.workspace_id };
  const to = "/e/$environmentId/workspaces/$workspaceId";
  if (id === null) return <span>{name}</span>;
  if (kind === "exec" || kind === "pty")
    return (
      <Link
        to={to}
        params={params}
        search={kind === "exec" ? { tab: "commands", exec: id } : { tab: "terminal", pty: id }}
        className={CAUSE_LINK}
      >
        {name}
      </Link>
    );
  if (kind === "run")
    return (
      <a href={`/e/${environmentId}/runs/${encodeURIComponent(id)}`} className={CAUSE_LINK}>
        {name}
      </a>
    );
  return <span>{name}</span>;
}

function VersionActions({
  version,
  workspace,
  isCurrent,
}: {
  version: WorkspaceVersion;
  workspace: Workspace;
  isCurrent: boolean;
}): ReactNode {
  const [, change] = useWorkspaceSearch();
  const { environment_id: environmentId } = usePlace();
  const showChanges = (base: string | undefined, to: string): void =>
    change({ tab: "changes", version: to, base, path: undefined });
  return (
    <div className="flex flex-wrap gap-2">
      <Button
        icon={<FolderTree size={14} aria-hidden />}
        onClick={() => change({ tab: "files", version: isCurrent ? undefined : version.id, path: undefined })}
      >
        Files
      </Button>
      <Button icon={<FileDiff size={14} aria-hidden />} onClick={() => showChanges(undefined, version.id)}>
        Changes
      </Button>
      {!isCurrent && (
        <Button
          icon={<GitCompare size={14} aria-hidden />}
          onClick={() => showChanges(version.id, workspace.current_version_id)}
        >
          Compare with current
        </Button>
      )}
      <Link
        to="/e/$environmentId/workspaces"
        params={{ environmentId }}
        search={{ create: version.id }}
        className="inline-flex items-center gap-1.5 rounded-md border border-line bg-surface px-3 py-1.5 text-sm font-medium hover:bg-raised"
      >
        <GitFork size={14} aria-hidden /> Fork
      </Link>
      {!isCurrent && <Restore version={version} workspace={workspace} />}
    </div>
  );
}

function Restore({ version, workspace }: { version: WorkspaceVersion; workspace: Workspace }): ReactNode {
  const restore = useAction(
    (place) =>
      send(at(restoreWorkspaceVersion, { workspace_id: workspace.id, version_id: version.id }), {
        body: place,
      }),
    { isShownInPlace: true, done: `The files of #${version.number} are the current ones.` },
  );
  return (
    <ConfirmButton
      icon={<RotateCcw size={14} aria-hidden />}
      title={`Restore version #${version.number}`}
      description={
        isOnMachine(workspace)
          ? "The workspace is live. Stop it first."
          : "Restoring creates a new version with these files. The history stays."
      }
      verb="Restore"
      onConfirm={() => restore.mutateAsync()}
    >
      Restore
    </ConfirmButton>
  );
}
