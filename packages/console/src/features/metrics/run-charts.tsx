import { keepPreviousData, useQuery, type UseQueryResult } from "@tanstack/react-query";
import type { RunMetrics } from "@keelson/contract";
import type { ReactNode } from "react";
import { get } from "../../api/client.ts";
import { usePlace } from "../../api/place.ts";
import { getRunMetrics } from "../../api/routes/runs.ts";
import { itemKey } from "../../api/use-item.ts";
import { ErrorPanel } from "../../ui/error-panel.tsx";
import { ChartGrid, ENTRYPOINT_CHARTS, ENVIRONMENT_CHARTS } from "./chart-section.tsx";
import { chartsOf } from "./chart-series.ts";
import { ChartView } from "./chart-view.tsx";
import { useMetricsWindow } from "./metrics-window.tsx";

/** Runs are counted every few seconds. */
const REFETCH_MS = 10_000;

type Of = { task?: string; actor?: string };
const ALL: Of = {};

/** The metrics of the address's window. While those of another one are read, the ones before stay. */
function useRunMetrics(of: Of): UseQueryResult<RunMetrics> {
  const place = usePlace();
  const query = { ...of, window: useMetricsWindow() };
  return useQuery<RunMetrics>({
    queryKey: itemKey(place.environment_id, getRunMetrics, query),
    queryFn: ({ signal }) => get(getRunMetrics, { ...place, ...query }, signal),
    refetchInterval: REFETCH_MS,
    placeholderData: keepPreviousData,
  });
}

/** How runs of the environment, a task or an actor ended and how long they took, over the window that the address has. */
export function RunCharts({ of = ALL }: { of?: Of }): ReactNode {
  const { data, error, refetch } = useRunMetrics(of);
  if (data === undefined) {
    if (error !== null) return <ErrorPanel error={error} onRetry={() => void refetch()} />;
    const isOne = of.task !== undefined || of.actor !== undefined;
    return <ChartGrid count={isOne ? ENTRYPOINT_CHARTS : ENVIRONMENT_CHARTS} />;
  }
  const charts = chartsOf(data);
  return (
    <>
      {!data.history_complete && (
        <p role="status" className="text-quiet">
          Runs that ended before the upgrade are still being counted.
        </p>
      )}
      <ChartGrid count={charts.length}>
        {charts.map((chart) => (
          <ChartView key={chart.title} chart={chart} />
        ))}
      </ChartGrid>
    </>
  );
}
