import type { Exec, Workspace } from "@keelson/contract";
import type { ReactNode } from "react";
import { useList } from "../../../api/use-list.ts";
import { at } from "../../../api/route.ts";
import { listExecs } from "../../../api/routes/execs.ts";
import { Button } from "../../../ui/button.tsx";
import { Empty } from "../../../ui/empty.tsx";
import { Status } from "../../../ui/status.tsx";
import { ListTable, type Column } from "../../../ui/table.tsx";
import { Duration, Time } from "../../../ui/time.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import { useWorkspaceSearch } from "../use-workspace-search.ts";
import { commandLine } from "./command-form.ts";
import { exitText } from "./describe-exec.ts";
import { ExecView } from "./exec-view.tsx";
import { RunCommand } from "./run-command.tsx";

const COLUMNS: readonly Column<Exec>[] = [
  { heading: "Command", cell: (exec) => <CommandButton exec={exec} /> },
  { heading: "State", cell: ({ status }) => <Status value={status} /> },
  { heading: "Exit", isNumber: true, cell: exitText },
  { heading: "Started", isOptional: true, cell: ({ started_at: at }) => <Time at={at} /> },
  {
    heading: "Took",
    isNumber: true,
    isOptional: true,
    cell: ({ started_at: from, finished_at: to }) => <Duration from={from} to={to} />,
  },
];

/** Commands that were run in the workspace, one of them with its output, and a line to run another. */
export function CommandsTab({ workspace }: { workspace: Workspace }): ReactNode {
  const [{ exec }, change] = useWorkspaceSearch();
  const list = useList(at(listExecs, { workspace_id: workspace.id }), { refetchMs: 2000 });
  const show = (id: string | undefined): void => change({ exec: id });
  return (
    <div className="flex flex-col gap-4 pb-6">
      <RunCommand workspaceId={workspace.id} onStarted={({ id }) => show(id)} />
      {exec !== undefined && (
        <ExecView
          key={exec}
          workspace={workspace}
          execId={exec}
          actions={<Button onClick={() => show(undefined)}>Close</Button>}
        />
      )}
      <ListTable
        label="Commands"
        columns={COLUMNS}
        rowKey={({ id }) => id}
        list={list}
        empty={
          <Empty title="No commands yet" command={`keelson workspace exec ${workspace.id} -- npm test`}>
            Run one above, or from a shell. Its changes are committed as a version when it ends.
          </Empty>
        }
      />
    </div>
  );
}

function CommandButton({ exec: { id, command } }: { exec: Exec }): ReactNode {
  const [{ exec: shown }, change] = useWorkspaceSearch();
  return (
    <button
      type="button"
      aria-current={id === shown || undefined}
      onClick={() => change({ exec: id })}
      className="max-w-[26rem] min-w-32 truncate text-left font-mono text-xs hover:text-accent aria-[current]:text-accent"
    >
      {visibleText(commandLine(command)) || "(empty)"}
    </button>
  );
}
