import type { Deployment } from "@keelson/contract";
import { RUN_STATUSES, isTerminalRunStatus } from "@keelson/contract/plain";
import { useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useItem } from "../../api/use-item.ts";
import { at } from "../../api/route.ts";
import { getDeployment } from "../../api/routes/deployments.ts";
import { listRuns } from "../../api/routes/runs.ts";
import { EnvironmentLink } from "../../app/environment-link.tsx";
import { ItemAsync } from "../../app/item-async.tsx";
import { RunTable } from "../../app/run-table.tsx";
import { Async } from "../../ui/async.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Id } from "../../ui/copy-button.tsx";
import { Card, Facts, Page, Section } from "../../ui/page.tsx";
import { Status } from "../../ui/status.tsx";
import { Time } from "../../ui/time.tsx";
import { useCurrentDeployment } from "../overview/use-current-deployment.ts";
import { Compared } from "./compared.tsx";
import { DeploymentEvents } from "./deployment-events.tsx";
import { GitFacts } from "./git-facts.tsx";
import { PromoteButton } from "./promote-button.tsx";

const REFETCH_MS = 2000;

export function DeploymentPage(): ReactNode {
  const { deploymentId } = useParams({ strict: false });
  const deployment = useItem(at(getDeployment, { id: deploymentId ?? "" }), { refetchMs: REFETCH_MS });
  return (
    <ItemAsync result={deployment}>
      {(shown) => <DeploymentDetails key={shown.id} deployment={shown} />}
    </ItemAsync>
  );
}

function DeploymentDetails({ deployment }: { deployment: Deployment }): ReactNode {
  const { id, version, status, is_current: isCurrent, error } = deployment;
  const current = useCurrentDeployment();
  const canPromote = status === "ready" && !isCurrent && current.data !== undefined;
  return (
    <Page
      title={version}
      subtitle={
        <span className="inline-flex items-center gap-2">
          <Status value={status} />
          {isCurrent && <Badge tone="accent">current</Badge>}
        </span>
      }
      actions={canPromote && <PromoteButton deployment={deployment} current={current.data ?? null} />}
    >
      {error !== null && (
        <div role="alert" className="rounded-lg border border-line bg-bad-ground p-4">
          <p className="font-medium text-bad">{error.message}</p>
          {error.stack !== null && (
            <pre tabIndex={0} className="mt-2 overflow-x-auto font-mono text-xs">
              {error.stack}
            </pre>
          )}
        </div>
      )}
      <Card>
        <Facts rows={factsOf(deployment)} />
      </Card>
      <Compared deployment={deployment} />
      <Section title="Declares">
        <Card>
          <Facts rows={declaredBy(deployment)} />
        </Card>
      </Section>
      <LiveRuns deploymentId={id} />
      <Section title="Events">
        <Card>
          <DeploymentEvents deploymentId={id} />
        </Card>
      </Section>
    </Page>
  );
}

const KIB = 1024;

const factsOf = (deployment: Deployment): [string, ReactNode][] => [
  ["Git", <GitFacts key="git" git={deployment.git} />],
  ["Made", <Time key="made" at={deployment.created_at} />],
  ["Promoted", <Time key="promoted" at={deployment.promoted_at} />],
  ["Bundle", `${Math.ceil(deployment.bundle.size_bytes / KIB).toLocaleString()} KiB`],
  ["SDK", deployment.sdk_version ?? "unknown"],
  ["Command line", deployment.cli_version ?? "unknown"],
  ["Deployment id", <Id key="deployment-id" value={deployment.id} />],
  ["Bundle digest", <Id key="bundle-digest" value={deployment.bundle.digest} />],
];

const namesOf = (names: readonly string[]): string => (names.length === 0 ? "none" : names.join(", "));

const declaredBy = (deployment: Deployment): [string, ReactNode][] => [
  ["Tasks", namesOf(deployment.tasks.map(({ id }) => id))],
  ["Actors", namesOf(deployment.actors.map(({ id }) => id))],
  ["Schedules", namesOf(deployment.schedules.map(({ id }) => id))],
  ["Sandboxes", namesOf(deployment.sandboxes.map(({ id }) => id))],
  ["Queues", namesOf(deployment.queues.map(({ name }) => name))],
];

const LIVE = RUN_STATUSES.filter((status) => !isTerminalRunStatus(status));
const SHOWN_RUNS = 20;

/** Runs stay in the version that they were started in: it is needed until they have ended. */
function LiveRuns({ deploymentId }: { deploymentId: string }): ReactNode {
  const query = { deployment_id: deploymentId, status: LIVE };
  const live = useItem(listRuns, {
    query: { ...query, limit: SHOWN_RUNS },
    refetchMs: REFETCH_MS,
  });
  return (
    <Section
      title="Live runs in it"
      actions={
        <EnvironmentLink to="runs" search={query}>
          Among all runs
        </EnvironmentLink>
      }
    >
      <Async result={live}>
        {({ runs, next_cursor: more }) =>
          runs.length === 0 ? (
            <p className="text-quiet">This version has no live runs.</p>
          ) : (
            <>
              <p>
                {more === null ? runs.length : `More than ${runs.length}`}{" "}
                {runs.length === 1 ? "run is" : "runs are"} live in this version.
              </p>
              <RunTable label="Live runs" runs={runs} hasEntrypoint />
            </>
          )
        }
      </Async>
    </Section>
  );
}
