import type { Workspace } from "@keelson/contract";
import type { ReactNode } from "react";
import { Badge } from "../../ui/badge.tsx";
import { Id } from "../../ui/copy-button.tsx";
import { describeBytes } from "../../ui/describe-bytes.ts";
import { JsonView } from "../../ui/json-view.tsx";
import { Status } from "../../ui/status.tsx";
import { Time } from "../../ui/time.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import { liveState } from "./describe-workspace.ts";
import { Uncommitted } from "./uncommitted.tsx";
import { useVersion } from "./workspace-data.ts";
import { countOf } from "../../ui/count-of.ts";

/** How it is now, in a line or two. */
export function WorkspaceFacts({ workspace }: { workspace: Workspace }): ReactNode {
  const { materialization, status_reason: reason } = workspace;
  const { data: version } = useVersion(workspace.id, workspace.current_version_id);
  return (
    <div className="flex flex-col gap-2 text-sm">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
        <Status value={liveState(workspace)} />
        {materialization?.dirty === true && materialization.status !== "uncommitted" && (
          <Badge tone="warn">Uncommitted changes</Badge>
        )}
        <Id value={workspace.id} />
        <span className="text-quiet">
          Sandbox <span className="text-text">{workspace.sandbox}</span>
        </span>
        {version !== undefined && (
          <span className="text-quiet">
            Version <span className="text-text">#{version.number}</span>, {describeBytes(version.size_bytes)}{" "}
            in {countOf(version.file_count, "file")}
          </span>
        )}
        {materialization !== null && materialization.status === "live" && (
          <span className="text-quiet">
            Isolation <span className="text-text">{materialization.isolation ?? "unknown"}</span>, live since{" "}
            <Time at={materialization.started_at} />
          </span>
        )}
        <span className="text-quiet">
          Active <Time at={workspace.last_activity_at} />
        </span>
        {workspace.tags.map((tag) => (
          <Badge key={tag}>{visibleText(tag)}</Badge>
        ))}
      </div>
      {Object.keys(workspace.metadata).length > 0 && (
        <details>
          <summary className="text-quiet">Metadata</summary>
          <div className="mt-2">
            <JsonView value={workspace.metadata} label="metadata" />
          </div>
        </details>
      )}
      <Uncommitted workspace={workspace} />
      {reason !== null && reason.kind !== "uncommitted" && (
        <p role="status" className="rounded-md bg-warn-ground px-3 py-2 text-warn">
          Waiting for a worker: {reason.message}
        </p>
      )}
      {materialization?.status === "failed" && materialization.error !== null && (
        <p role="alert" className="rounded-md bg-bad-ground px-3 py-2 break-words text-bad">
          The worker failed: {visibleText(materialization.error.message)}
        </p>
      )}
    </div>
  );
}
