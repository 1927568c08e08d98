import { lazy, Suspense, type ReactNode } from "react";
import { useItem } from "../../api/use-item.ts";
import { getRunActivity, listRuns } from "../../api/routes/runs.ts";
import { EnvironmentLink } from "../../app/environment-link.tsx";
import { Async } from "../../ui/async.tsx";
import { Page, Section } from "../../ui/page.tsx";
import { ChartGrid, ChartSection, ENVIRONMENT_CHARTS } from "../metrics/chart-section.tsx";
import { Figures } from "./figures.tsx";
import { QueueTable } from "./queue-table.tsx";
import { FailedRuns, StuckRuns } from "./run-lists.tsx";
import { useCurrentDeployment } from "./use-current-deployment.ts";

/** They come after the page: it can be used without them. */
const RunCharts = lazy(() =>
  import("../metrics/run-charts.tsx").then((module) => ({ default: module.RunCharts })),
);

/** Of an environment in which nothing has happened: all others do without. */
const FirstSteps = lazy(() => import("./first-steps.tsx").then((module) => ({ default: module.FirstSteps })));

const REFETCH_MS = 2000;
const QUIET_REFETCH_MS = 10_000;

export function OverviewPage(): ReactNode {
  const activity = useItem(getRunActivity, { refetchMs: REFETCH_MS });
  const deployment = useCurrentDeployment(QUIET_REFETCH_MS);
  const newest = useItem(listRuns, { query: { limit: 1 }, refetchMs: QUIET_REFETCH_MS });
  const hasRuns = newest.data === undefined || newest.data.runs.length > 0;
  return (
    <Page title="Overview">
      {(deployment.data === null || !hasRuns) && (
        <Suspense fallback={null}>
          <FirstSteps isDeployed={deployment.data !== null} />
        </Suspense>
      )}
      <Async result={activity}>
        {(shown) => (
          <>
            <Figures activity={shown} deployment={deployment.data} />
            <ChartSection>
              <Suspense fallback={<ChartGrid count={ENVIRONMENT_CHARTS} />}>
                <RunCharts />
              </Suspense>
            </ChartSection>
            {shown.stuck.length > 0 && (
              <Section title="Waiting for changes">
                <StuckRuns runs={shown.stuck} />
              </Section>
            )}
            <Section title="Queues" actions={<EnvironmentLink to="runs">All runs</EnvironmentLink>}>
              <QueueTable queues={shown.queues} isComplete={shown.queues_complete} />
            </Section>
          </>
        )}
      </Async>
      <Section title="Recent failures">
        <FailedRuns refetchMs={QUIET_REFETCH_MS} />
      </Section>
    </Page>
  );
}
