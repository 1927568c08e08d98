import type { Run } from "@keelson/contract";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { usePlace } from "../../api/place.ts";
import type { Follow } from "../../api/use-follow.ts";
import { pageAddress } from "../../app/navigation.ts";
import { Badge } from "../../ui/badge.tsx";
import { ErrorPanel } from "../../ui/error-panel.tsx";
import { Facts } from "../../ui/page.tsx";
import { Duration, Time } from "../../ui/time.tsx";
import { visibleLine, visibleText } from "../../ui/visible-text.ts";
import { readStack } from "./read-stack.ts";

/** What the run is of, when it was what, and what it belongs to. */
export function RunFacts({ run }: { run: Run }): ReactNode {
  const { environment_id } = usePlace();
  const link = (page: string, id: string, text = `…${id.slice(-12)}`): ReactNode => (
    <Link
      to={pageAddress(`/e/${environment_id}`, `${page}/${id}`)}
      title={id}
      className="font-mono text-xs text-accent hover:underline"
    >
      {text}
    </Link>
  );
  const rows: (readonly [string, ReactNode])[] = [
    ["Attempt", run.attempt_number === null ? "–" : `${run.attempt_number} of ${run.max_attempts}`],
    ["Created", <Time key="created" at={run.created_at} />],
    ["Queued for", <Duration key="queued" from={run.created_at} to={run.started_at ?? run.finished_at} />],
    ["Took", <Duration key="took" from={run.started_at} to={run.finished_at} />],
    ["Deployment", link("deployments", run.deployment_id, run.deployment_version)],
    ["Queue", run.queue],
  ];
  if (run.concurrency_key !== null)
    rows.push(["Concurrency key", <Text key="key" text={run.concurrency_key} />]);
  if (run.priority !== 0) rows.push(["Priority", run.priority]);
  if (run.session_id !== null)
    rows.push([
      run.turn === null ? "Session" : `Session, turn ${run.turn}`,
      link("sessions", run.session_id),
    ]);
  if (run.schedule_id !== null) rows.push(["Schedule", link("schedules", run.schedule_id)]);
  if (run.parent_run_id !== null) rows.push(["Parent run", link("runs", run.parent_run_id)]);
  if (run.workspace_id !== null) rows.push(["Workspace", link("workspaces", run.workspace_id)]);
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

type Failure = NonNullable<Run["failure"]>;

/** The message and the first frame of the run's own code; the whole stack is a click away. */
function FailureNotice({
  failure,
  onShowStack,
}: {
  failure: Failure;
  onShowStack: (() => void) | null;
}): ReactNode {
  const frame = readStack(failure.stack ?? "").find(({ isOwn }) => isOwn);
  return (
    <div className="flex items-start gap-3 rounded-md bg-bad-ground px-3 py-2 text-bad">
      <div className="min-w-0 flex-1">
        <p className="line-clamp-3 break-words">
          <span className="font-medium">{failure.kind.replaceAll("_", " ")}: </span>
          <bdi>{visibleText(failure.message)}</bdi>
        </p>
        {frame !== undefined && (
          <p className="truncate font-mono text-xs">
            <bdi>{visibleLine(frame.text.trim())}</bdi>
          </p>
        )}
      </div>
      {failure.stack !== null && onShowStack !== null && (
        <button type="button" className="shrink-0 underline" onClick={onShowStack}>
          Show stack
        </button>
      )}
    </div>
  );
}

/** Reason, or how it failed. `onShowStack` is null where the stack is in view. */
export function RunNotices({
  run,
  follow,
  onShowStack,
}: {
  run: Run;
  follow: Follow;
  onShowStack: (() => void) | null;
}): ReactNode {
  const { status_reason: reason, failure } = run;
  return (
    <>
      {reason !== null && (
        <p className="rounded-md bg-info-ground px-3 py-2 text-info">
          <span className="font-medium">Not running: </span>
          {reason.message}
        </p>
      )}
      {failure !== null && <FailureNotice failure={failure} onShowStack={onShowStack} />}
      {follow.state === "failed" && <ErrorPanel error={follow.error} />}
    </>
  );
}
