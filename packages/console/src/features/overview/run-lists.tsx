import type { Run, StuckRun } from "@keelson/contract";
import type { ReactNode } from "react";
import { useItem } from "../../api/use-item.ts";
import { listRuns } from "../../api/routes/runs.ts";
import { EnvironmentLink } from "../../app/environment-link.tsx";
import { Async } from "../../ui/async.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Status } from "../../ui/status.tsx";
import { Table, type Column } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";

type RunLike = Pick<Run, "id" | "task" | "actor">;

/** A run by what it runs, leading to it. */
function RunName({ run: { id, task, actor } }: { run: RunLike }): ReactNode {
  return (
    <EnvironmentLink to={`runs/${id}`}>
      <span title={id} className="whitespace-nowrap">
        {task ?? actor}
      </span>
    </EnvironmentLink>
  );
}

const STUCK_COLUMNS: readonly Column<StuckRun>[] = [
  { heading: "Run", cell: (run) => <RunName run={run} /> },
  { heading: "Queue", isOptional: true, cell: ({ queue }) => queue },
  { heading: "Queued", cell: ({ queued_at }) => <Time at={queued_at} /> },
  {
    heading: "Why",
    cell: ({ status_reason: { kind, message } }) => (
      <span className="flex flex-wrap items-center gap-2">
        <Badge tone="warn">{kind.replaceAll("_", " ")}</Badge>
        <span>{message}</span>
      </span>
    ),
  },
];

export const StuckRuns = ({ runs }: { runs: readonly StuckRun[] }): ReactNode => (
  <Table label="Waiting runs" columns={STUCK_COLUMNS} rows={runs} rowKey={({ id }) => id} />
);

const FAILED_COLUMNS: readonly Column<Run>[] = [
  { heading: "Run", cell: (run) => <RunName run={run} /> },
  { heading: "Status", cell: ({ status }) => <Status value={status} /> },
  {
    heading: "Failure",
    cell: ({ failure }) => (
      <span className="line-clamp-2 break-words">{failure?.message ?? "The run did not start in time."}</span>
    ),
  },
  { heading: "Ended", cell: ({ finished_at }) => <Time at={finished_at} /> },
];

const FAILURES = { status: ["failed", "system_failed", "expired"], limit: 5 } as const;

export function FailedRuns({ refetchMs }: { refetchMs: number }): ReactNode {
  const failed = useItem(listRuns, { query: FAILURES, refetchMs });
  return (
    <Async result={failed}>
      {({ runs }) =>
        runs.length === 0 ? (
          <p className="text-quiet">No failed runs.</p>
        ) : (
          <Table label="Failed runs" columns={FAILED_COLUMNS} rows={runs} rowKey={({ id }) => id} />
        )
      }
    </Async>
  );
}
