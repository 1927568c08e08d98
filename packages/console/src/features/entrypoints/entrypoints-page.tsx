import type { EntrypointMetrics, EntrypointMetricsList } from "@keelson/contract";
import type { ReactNode } from "react";
import { listEntrypointMetrics } from "../../api/routes/runs.ts";
import { useItem } from "../../api/use-item.ts";
import { EnvironmentLink } from "../../app/environment-link.tsx";
import { Async } from "../../ui/async.tsx";
import { buttonClass } from "../../ui/button.tsx";
import { cx } from "../../ui/class-names.ts";
import { Empty } from "../../ui/empty.tsx";
import { ErrorPanel } from "../../ui/error-panel.tsx";
import { Page } from "../../ui/page.tsx";
import { Status } from "../../ui/status.tsx";
import { Table, type Column } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { durationOf, percentOf, runsPerDay } from "../metrics/chart-series.ts";
import { useMetricsWindow, WindowSwitch } from "../metrics/metrics-window.tsx";
import { pageOf, useEntrypoints, type Entrypoint, type EntrypointKind } from "./entrypoint-kind.ts";

export const TasksPage = (): ReactNode => <Entrypoints kind="task" />;
export const ActorsPage = (): ReactNode => <Entrypoints kind="actor" />;

const REFETCH_MS = 10_000;

/** A task or actor with its figures; undefined while they are read. */
type Row = Entrypoint & { metrics: EntrypointMetrics | undefined };

/** A figure, or the place of one. */
const figure =
  (of: (metrics: EntrypointMetrics) => ReactNode) =>
  (row: Row): ReactNode =>
    row.metrics === undefined ? <span className="text-quiet">–</span> : of(row.metrics);

const columnsOf = (
  kind: EntrypointKind,
  list: EntrypointMetricsList | undefined,
  search: object,
): readonly Column<Row>[] => [
  {
    heading: kind === "task" ? "Task" : "Actor",
    cell: ({ declared_id: id, description }) => (
      <span className="block min-w-32">
        <EnvironmentLink
          to={`${pageOf(kind)}/${id}`}
          search={{ ...search }}
          className="font-medium break-all text-accent hover:underline"
        >
          {id}
        </EnvironmentLink>
        {description !== null && <span className="line-clamp-2 text-xs text-quiet">{description}</span>}
      </span>
    ),
  },
  {
    heading: "Last run",
    cell: figure(({ last_run: last }) =>
      last === null ? (
        <span className="text-quiet">none</span>
      ) : (
        <EnvironmentLink
          to={`runs/${last.id}`}
          className="inline-flex flex-wrap items-center gap-x-2 hover:underline"
        >
          <Status value={last.status} />
          <Time at={last.created_at} />
        </EnvironmentLink>
      ),
    ),
  },
  {
    heading: "Runs per day",
    isNumber: true,
    isOptional: true,
    cell: figure((metrics) => (list === undefined ? "–" : runsPerDay(metrics, list.since, list.at))),
  },
  {
    heading: "Failure rate",
    isNumber: true,
    cell: figure(({ failure_rate: rate }) => (
      <span className={cx(rate !== null && rate >= 0.1 && "font-medium text-bad")}>{percentOf(rate)}</span>
    )),
  },
  {
    heading: "p95",
    isNumber: true,
    cell: figure(({ duration_ms: lasted }) => durationOf(lasted?.p95)),
  },
  { heading: "Queue", isOptional: true, cell: ({ queue }) => queue ?? "default" },
  {
    heading: "Start",
    isOptional: true,
    cell: ({ declared_id: id }) => (
      <EnvironmentLink to={`${pageOf(kind)}/${id}/start`} className={buttonClass()}>
        Start<span className="sr-only"> {id}</span>
      </EnvironmentLink>
    ),
  },
];

function Entrypoints({ kind }: { kind: EntrypointKind }): ReactNode {
  const noun = kind === "task" ? "tasks" : "actors";
  return (
    <Page
      title={kind === "task" ? "Tasks" : "Actors"}
      subtitle={
        kind === "task"
          ? "Tasks that the current deployment can run."
          : "An actor is code that holds a session: it takes input for as long as the conversation lasts."
      }
      actions={<WindowSwitch />}
    >
      <Async result={useEntrypoints(kind)}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty title={`The current deployment declares no ${noun}`} command="keelson deploy">
              Declare one with {kind}() in your project and deploy it.
            </Empty>
          ) : (
            <WithMetrics kind={kind} entrypoints={rows} />
          )
        }
      </Async>
    </Page>
  );
}

function WithMetrics({
  kind,
  entrypoints,
}: {
  kind: EntrypointKind;
  entrypoints: readonly Entrypoint[];
}): ReactNode {
  const window = useMetricsWindow();
  const { data, error, refetch } = useItem(listEntrypointMetrics, {
    query: { kind, window },
    refetchMs: REFETCH_MS,
  });
  const known = new Map(data?.entrypoints.map((metrics) => [metrics.task ?? metrics.actor, metrics]));
  return (
    <>
      {data === undefined && error !== null && <ErrorPanel error={error} onRetry={() => void refetch()} />}
      <Table
        label={kind === "task" ? "Tasks" : "Actors"}
        columns={columnsOf(kind, data, window === "24h" ? {} : { window })}
        rows={entrypoints.map((one) => ({ ...one, metrics: known.get(one.declared_id) }))}
        rowKey={({ id }) => id}
      />
    </>
  );
}
