import type { Exec, Workspace } from "@keelson/contract";
import type { ReactNode } from "react";
import { isNotFound } from "../../../api/use-follow.ts";
import { useItem } from "../../../api/use-item.ts";
import { at } from "../../../api/route.ts";
import { getExec, readExecStderr, readExecStdout } from "../../../api/routes/execs.ts";
import { Async } from "../../../ui/async.tsx";
import { Button } from "../../../ui/button.tsx";
import { Id } from "../../../ui/copy-button.tsx";
import { Empty } from "../../../ui/empty.tsx";
import { Card } from "../../../ui/page.tsx";
import { Status } from "../../../ui/status.tsx";
import { Duration, Time } from "../../../ui/time.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import { useWorkspaceSearch } from "../use-workspace-search.ts";
import { commandLine } from "./command-form.ts";
import { exitText, isOver } from "./describe-exec.ts";
import { ExecInput } from "./exec-input.tsx";
import { ExecOutput } from "./exec-output.tsx";
import { ExecSignals } from "./exec-signals.tsx";

/** A command: how it is, what it writes as it writes it, and what can be sent to it. */
export function ExecView({
  workspace,
  execId,
  actions,
}: {
  workspace: Workspace;
  execId: string;
  actions: ReactNode;
}): ReactNode {
  const params = { workspace_id: workspace.id, exec_id: execId };
  const result = useItem(at(getExec, params), { refetchMs: 1000 });
  if (isNotFound(result.error)) return <Empty title="Command not found" action={actions} />;
  return (
    <Async result={result}>
      {(exec) => (
        <Card className="flex flex-col gap-3">
          <ExecFacts exec={exec} actions={actions} workspace={workspace} />
          <ExecOutput
            label="Output"
            route={at(readExecStdout, params)}
            isOver={isOver(exec)}
            bytes={exec.stdout.bytes}
          />
          {exec.stderr.bytes > 0 && (
            <ExecOutput
              label="Errors"
              route={at(readExecStderr, params)}
              isOver={isOver(exec)}
              bytes={exec.stderr.bytes}
            />
          )}
          {!isOver(exec) && !exec.stdin.closed && <ExecInput params={params} />}
        </Card>
      )}
    </Async>
  );
}

function ExecFacts({
  exec,
  actions,
  workspace,
}: {
  exec: Exec;
  actions: ReactNode;
  workspace: Workspace;
}): ReactNode {
  const [, change] = useWorkspaceSearch();
  const { version_id: versionId } = exec;
  const exit = exitText(exec);
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap items-start justify-between gap-2">
        <code className="min-w-0 flex-1 basis-64 font-mono text-sm break-all">
          {visibleText(commandLine(exec.command))}
        </code>
        <div className="flex flex-wrap gap-2">
          {!isOver(exec) && <ExecSignals params={{ workspace_id: workspace.id, exec_id: exec.id }} />}
          {actions}
        </div>
      </div>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1 text-sm text-quiet">
        <Status value={exec.status} />
        {exit !== "" && <span className="text-text">Exit {exit}</span>}
        <Id value={exec.id} />
        {exec.started_at !== null && (
          <span>
            Started <Time at={exec.started_at} />, for{" "}
            <Duration from={exec.started_at} to={exec.finished_at} />
          </span>
        )}
        {exec.cwd !== "" && <span>in {visibleText(exec.cwd)}</span>}
        {exec.env_names.length > 0 && <span>with {exec.env_names.join(", ")}</span>}
        {versionId !== null && (
          <Button
            onClick={() => change({ tab: "changes", version: versionId, base: undefined, path: undefined })}
          >
            Show changes
          </Button>
        )}
      </div>
      {exec.status === "pending" && (
        <p role="status" className="text-sm text-quiet">
          {workspace.status_reason?.message ?? "Waiting for the workspace to start …"}
        </p>
      )}
      {exec.error !== null && (
        <p role="alert" className="text-sm break-words text-bad">
          {visibleText(exec.error.message)}
        </p>
      )}
    </div>
  );
}
