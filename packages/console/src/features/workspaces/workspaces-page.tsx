import type { Workspace } from "@keelson/contract";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { lazy, Suspense, type ReactNode } from "react";
import { usePlace } from "../../api/place.ts";
import { useList } from "../../api/use-list.ts";
import { listWorkspaces } from "../../api/routes/workspaces.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { describeBytes } from "../../ui/describe-bytes.ts";
import { Empty } from "../../ui/empty.tsx";
import { Page } from "../../ui/page.tsx";
import { Status } from "../../ui/status.tsx";
import { ListTable, type Column } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import { ListFilters } from "./list-filters.tsx";
import { liveState, workspaceName } from "./describe-workspace.ts";
import { useVersion } from "./workspace-data.ts";
import type { ListSearch } from "./workspace-search.ts";

const CreateWorkspace = lazy(async () => ({
  default: (await import("./create-workspace.tsx")).CreateWorkspace,
}));
const route = getRouteApi("/signed-in/e/$environmentId/workspaces");

const COLUMNS: readonly Column<Workspace>[] = [
  { heading: "Workspace", cell: (workspace) => <WorkspaceLink workspace={workspace} /> },
  { heading: "Sandbox", cell: ({ sandbox }) => sandbox },
  { heading: "State", cell: (workspace) => <LiveState workspace={workspace} /> },
  { heading: "Version", isNumber: true, cell: (workspace) => <VersionNumber workspace={workspace} /> },
  {
    heading: "Size",
    isNumber: true,
    isOptional: true,
    cell: (workspace) => <VersionSize workspace={workspace} />,
  },
  {
    heading: "Tags",
    isOptional: true,
    cell: ({ tags }) => (
      <span className="inline-flex flex-wrap gap-1">
        {tags.map((tag) => (
          <Badge key={tag}>{visibleText(tag)}</Badge>
        ))}
      </span>
    ),
  },
  { heading: "Active", isOptional: true, cell: ({ last_activity_at: at }) => <Time at={at} /> },
];

/** Durable folders: what is in them, and whether they are on a machine now. */
export function WorkspacesPage(): ReactNode {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { create, sandbox, tag } = search;
  const query = { ...(sandbox !== undefined && { sandbox }), ...(tag !== undefined && { tag: [tag] }) };
  const list = useList(listWorkspaces, { query, refetchMs: 2000 });
  const show = (next: ListSearch): void => void navigate({ search: next, resetScroll: false });
  const open = (): void => show({ ...search, create: "new" });
  const isFiltered = sandbox !== undefined || tag !== undefined;
  return (
    <Page
      title="Workspaces"
      actions={
        <Button kind="primary" icon={<Plus size={15} aria-hidden />} onClick={open}>
          New workspace
        </Button>
      }
    >
      <ListFilters search={search} onChange={show} />
      <ListTable
        label="Workspaces"
        columns={COLUMNS}
        rowKey={({ id }) => id}
        list={list}
        empty={
          isFiltered ? (
            <Empty
              title="No workspaces match these filters"
              action={<Button onClick={() => show({})}>Show all</Button>}
            />
          ) : (
            <Empty
              title="No workspaces yet"
              command="keelson workspace create"
              action={<Button onClick={open}>New workspace</Button>}
            >
              A workspace keeps the files of an agent or a task: every change is a version, and commands and
              terminals run in it.
            </Empty>
          )
        }
      />
      {create !== undefined && (
        <Suspense>
          <CreateWorkspace
            fromVersionId={create === "new" ? "" : create}
            onClose={() => show({ ...(sandbox && { sandbox }), ...(tag && { tag }) })}
          />
        </Suspense>
      )}
    </Page>
  );
}

function WorkspaceLink({ workspace }: { workspace: Workspace }): ReactNode {
  const { environment_id: environmentId } = usePlace();
  return (
    <Link
      to="/e/$environmentId/workspaces/$workspaceId"
      params={{ environmentId, workspaceId: workspace.id }}
      className="block max-w-72 min-w-32 hover:text-accent"
    >
      <span className={workspace.external_id === null ? "font-mono text-xs" : "block truncate font-medium"}>
        {workspaceName(workspace)}
      </span>
      {workspace.external_id !== null && (
        <span className="block truncate font-mono text-xs text-quiet">{workspace.id}</span>
      )}
    </Link>
  );
}

const LiveState = ({ workspace }: { workspace: Workspace }): ReactNode => (
  <span title={workspace.status_reason?.message}>
    <Status value={liveState(workspace)} />
    {workspace.materialization?.status === "uncommitted" && (
      <span className="mt-1 line-clamp-2 max-w-80 min-w-40 text-xs break-words whitespace-normal text-warn">
        {visibleText(workspace.materialization.error?.message ?? "")}
      </span>
    )}
  </span>
);

const VersionNumber = ({ workspace }: { workspace: Workspace }): ReactNode => {
  const { data } = useVersion(workspace.id, workspace.current_version_id);
  return data === undefined ? "" : `#${data.number}`;
};

const VersionSize = ({ workspace }: { workspace: Workspace }): ReactNode => {
  const { data } = useVersion(workspace.id, workspace.current_version_id);
  return data === undefined
    ? ""
    : `${describeBytes(data.size_bytes)} in ${data.file_count.toLocaleString("en")} ${data.file_count === 1 ? "file" : "files"}`;
};
