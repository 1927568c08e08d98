import type { Workspace } from "@keelson/contract";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense, type ReactNode } from "react";
import { isNotFound } from "../../api/use-follow.ts";
import { NotFound } from "../../app/not-found.tsx";
import { Async, Loading } from "../../ui/async.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Page } from "../../ui/page.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { workspaceName } from "./describe-workspace.ts";
import { useWorkspaceSearch } from "./use-workspace-search.ts";
import { WorkspaceActions } from "./workspace-actions.tsx";
import { useWorkspace } from "./workspace-data.ts";
import { WorkspaceFacts } from "./workspace-facts.tsx";
import { WORKSPACE_TABS, type WorkspaceTab } from "./workspace-search.ts";

const route = getRouteApi("/signed-in/e/$environmentId/workspaces/$workspaceId");

type TabContent = (props: { workspace: Workspace }) => ReactNode;
const CONTENTS: Record<WorkspaceTab, readonly [label: string, content: TabContent]> = {
  files: ["Files", lazy(async () => ({ default: (await import("./files/files-tab.tsx")).FilesTab }))],
  changes: [
    "Changes",
    lazy(async () => ({ default: (await import("./changes/changes-tab.tsx")).ChangesTab })),
  ],
  history: ["History", lazy(async () => ({ default: (await import("./history-tab.tsx")).HistoryTab }))],
  commands: [
    "Commands",
    lazy(async () => ({ default: (await import("./commands/commands-tab.tsx")).CommandsTab })),
  ],
  terminal: [
    "Terminal",
    lazy(async () => ({ default: (await import("./terminal/terminal-tab.tsx")).TerminalTab })),
  ],
};

/** One workspace: its files in any version, what changed between two, and what runs in it. */
export function WorkspacePage(): ReactNode {
  const { workspaceId } = route.useParams();
  const result = useWorkspace(workspaceId);
  if (result.data === undefined && isNotFound(result.error)) return <NotFound />;
  return (
    <Page
      isWide
      title={result.data === undefined ? workspaceId : workspaceName(result.data)}
      actions={result.data !== undefined && <WorkspaceActions workspace={result.data} />}
    >
      <Async result={result}>{(workspace) => <WorkspaceParts workspace={workspace} />}</Async>
    </Page>
  );
}

function WorkspaceParts({ workspace }: { workspace: Workspace }): ReactNode {
  const [{ tab = "files" }, change] = useWorkspaceSearch();
  if (workspace.status !== "active")
    return (
      <Empty
        title={
          workspace.status === "deleted" ? "This workspace was deleted" : "Keelson is deleting this workspace"
        }
      >
        The versions of this workspace are deleted. Forked workspaces keep their files.
      </Empty>
    );
  return (
    <>
      <WorkspaceFacts workspace={workspace} />
      <Tabs
        label="Workspace sections"
        value={tab}
        onChange={(id) => change({ tab: id as WorkspaceTab })}
        tabs={WORKSPACE_TABS.map((id) => {
          const [label, Content] = CONTENTS[id];
          return {
            id,
            label,
            content: (
              <Suspense fallback={<Loading />}>
                <Content workspace={workspace} />
              </Suspense>
            ),
          };
        })}
      />
    </>
  );
}
