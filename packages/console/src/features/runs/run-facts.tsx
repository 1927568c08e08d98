import type { Run } from "@keelson/contract";
import { useEffect, type ReactNode } from "react";
import { at } from "../../api/route.ts";
import { getRunUsage } from "../../api/routes/runs.ts";
import { useItem } from "../../api/use-item.ts";
import { Badge } from "../../ui/badge.tsx";
import { Facts } from "../../ui/page.tsx";
import { Duration, Time, useNow } from "../../ui/time.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import { describeSums } from "../usage/describe-usage.ts";
import { ResourceLink } from "./header/resource-link.tsx";

/** What the run is of, when it was what, and what it belongs to. */
export function RunFacts({ run }: { run: Run }): ReactNode {
  const now = useNow();
  const { finished_at: finishedAt } = run;
  const used = useItem(at(getRunUsage, { id: run.id }), finishedAt === null ? { refetchMs: 5000 } : {});
  const { refetch } = used;
  // What it said last.
  useEffect(() => void (finishedAt !== null && refetch()), [finishedAt, refetch]);
  const rows: (readonly [string, ReactNode])[] = [
    ["Attempt", run.attempt_number === null ? "–" : `${run.attempt_number} of ${run.max_attempts}`],
    ["Created", <Time key="created" at={run.created_at} />],
    [
      "Queued for",
      <Duration key="queued" from={queuedAt(run, now)} to={run.started_at ?? run.finished_at} />,
    ],
    ["Took", <Duration key="took" from={run.started_at} to={run.finished_at} />],
    [
      "Deployment",
      <ResourceLink
        key="deployments"
        page="deployments"
        id={run.deployment_id}
        text={run.deployment_version}
      />,
    ],
    ["Queue", run.queue],
  ];
  if (run.concurrency_key !== null)
    rows.push(["Concurrency key", <Text key="key" text={run.concurrency_key} />]);
  if (run.priority !== 0) rows.push(["Priority", run.priority]);
  if (run.session_id !== null)
    rows.push([
      run.turn === null ? "Session" : `Session, turn ${run.turn}`,
      <ResourceLink key="sessions" page="sessions" id={run.session_id} />,
    ]);
  if (run.schedule_id !== null)
    rows.push(["Schedule", <ResourceLink key="schedules" page="schedules" id={run.schedule_id} />]);
  if (run.parent_run_id !== null)
    rows.push(["Parent run", <ResourceLink key="runs" page="runs" id={run.parent_run_id} />]);
  if (run.workspace_id !== null)
    rows.push(["Workspace", <ResourceLink key="workspaces" page="workspaces" id={run.workspace_id} />]);
  if (used.data !== undefined && used.data.calls > 0)
    rows.push(["Model usage", <span key="used">{describeSums(used.data)}</span>]);
  if (run.tags.length > 0)
    rows.push([
      "Tags",
      <span key="tags" className="flex flex-wrap gap-1">
        {run.tags.map((tag) => (
          <Badge key={tag}>
            <Text text={tag} />
          </Badge>
        ))}
      </span>,
    ]);
  return (
    <div className="shrink-0 max-sm:[&>dl]:grid-cols-2">
      <Facts rows={rows} />
    </div>
  );
}

const Text = ({ text }: { text: string }): ReactNode => (
  <bdi className="max-w-40 truncate">{visibleText(text)}</bdi>
);

/** When it began to wait for a worker: a delayed start does not wait before its time. Null while it does not. */
function queuedAt(
  { created_at: createdAt, start_at: startAt, finished_at: finishedAt }: Run,
  now: number,
): string | null {
  if (startAt === null || Date.parse(startAt) <= Date.parse(createdAt)) return createdAt;
  const untilMs = finishedAt === null ? now : Date.parse(finishedAt);
  return Date.parse(startAt) <= untilMs ? startAt : null;
}
