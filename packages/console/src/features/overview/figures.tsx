import type { Deployment, RunActivity } from "@keelson/contract";
import type { ReactNode } from "react";
import { useItem } from "../../api/use-item.ts";
import { listTokens } from "../../api/routes/tokens.ts";
import { EnvironmentLink } from "../../app/environment-link.tsx";
import { cx } from "../../ui/class-names.ts";
import { Time } from "../../ui/time.tsx";
import { failuresOf, sumQueues } from "./summarize-activity.ts";

const MAX_COUNTED = 100;
const REFETCH_MS = 5000;

/** The few numbers that say how the environment is, each leading to what it counts. */
export function Figures({
  activity: { queues, workers, minutes, queues_complete: isComplete },
  deployment,
}: {
  activity: RunActivity;
  deployment: Deployment | null | undefined;
}): ReactNode {
  const live = sumQueues(queues);
  const failures = minutes.reduce((sum, minute) => sum + failuresOf(minute), 0);
  const more = isComplete ? "" : "+";
  return (
    <div className="grid grid-cols-2 gap-3 md:grid-cols-3 xl:grid-cols-6">
      <Figure
        name="Running"
        value={`${live.running}${more}`}
        to="runs"
        search={{ status: ["running"] }}
        note={live.waiting > 0 ? `${live.waiting} waiting in their code` : "none waiting"}
      />
      <Figure
        name="Queued"
        value={`${live.queued}${more}`}
        to="runs"
        search={{ status: ["queued"] }}
        note={
          live.oldestQueuedAt === null ? (
            live.delayed > 0 ? (
              `${live.delayed} due later`
            ) : (
              "nothing waits"
            )
          ) : (
            <>
              oldest <Time at={live.oldestQueuedAt} />
            </>
          )
        }
      />
      <Figure
        name="Failed in the last hour"
        value={String(failures)}
        isBad={failures > 0}
        to="runs"
        search={{ status: ["failed", "system_failed", "expired"] }}
      />
      <Figure
        name="Free slots"
        value={`${workers.free_slots} of ${workers.slots}`}
        isBad={workers.online === 0}
        note={describeWorkers(workers)}
      />
      <PendingTokens />
      <Figure
        name="Current deployment"
        value={deployment === undefined ? "…" : (deployment?.version ?? "none")}
        to={deployment === null || deployment === undefined ? "deployments" : `deployments/${deployment.id}`}
        note={
          deployment === null || deployment === undefined ? undefined : (
            <>
              promoted <Time at={deployment.promoted_at} />
            </>
          )
        }
      />
    </div>
  );
}

function describeWorkers({ online, draining, lost }: RunActivity["workers"]): string {
  const parts = [online === 1 ? "1 worker" : `${online} workers`];
  if (draining > 0) parts.push(`${draining} draining`);
  if (lost > 0) parts.push(`${lost} lost`);
  return parts.join(", ");
}

function PendingTokens(): ReactNode {
  const { data } = useItem(listTokens, {
    query: { status: "pending", limit: MAX_COUNTED },
    refetchMs: REFETCH_MS,
  });
  const count =
    data === undefined ? "…" : data.next_cursor === null ? String(data.tokens.length) : `${MAX_COUNTED}+`;
  return (
    <Figure
      name="Pending tokens"
      value={count}
      to="tokens"
      search={{ status: "pending" }}
      note="to be answered"
    />
  );
}

function Figure({
  name,
  value,
  note,
  to,
  search,
  isBad = false,
}: {
  name: string;
  value: string;
  note?: ReactNode;
  to?: string;
  search?: Record<string, unknown>;
  isBad?: boolean;
}): ReactNode {
  const content = (
    <>
      <span className="text-xs text-quiet">{name}</span>
      <span className={cx("truncate text-lg font-semibold tabular-nums", isBad && "text-bad")}>{value}</span>
      <span className="min-h-4 truncate text-xs text-quiet">{note}</span>
    </>
  );
  const look = "flex min-w-0 flex-col rounded-lg border border-line bg-surface px-3 py-2";
  if (to === undefined) return <div className={look}>{content}</div>;
  return (
    <EnvironmentLink to={to} className={`${look} hover:bg-raised`} {...(search !== undefined && { search })}>
      {content}
    </EnvironmentLink>
  );
}
