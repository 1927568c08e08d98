import type { Actor } from "@keelson/contract";
import { Play } from "lucide-react";
import type { ReactNode } from "react";
import { useItem } from "../../api/use-item.ts";
import { listRuns } from "../../api/routes/runs.ts";
import { EnvironmentLink } from "../../app/environment-link.tsx";
import { RunTable } from "../../app/run-table.tsx";
import { Async } from "../../ui/async.tsx";
import { buttonClass } from "../../ui/button.tsx";
import { Id } from "../../ui/copy-button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { Card, Facts, Page, Section } from "../../ui/page.tsx";
import { ChartSection } from "../metrics/chart-section.tsx";
import { RunCharts } from "../metrics/run-charts.tsx";
import { pageOf, type Entrypoint, type EntrypointKind } from "./entrypoint-kind.ts";
import { WithEntrypoint } from "./with-entrypoint.tsx";

export const TaskPage = (): ReactNode => (
  <WithEntrypoint kind="task">{(task) => <EntrypointFacts kind="task" entrypoint={task} />}</WithEntrypoint>
);
export const ActorPage = (): ReactNode => (
  <WithEntrypoint kind="actor">
    {(actor) => <EntrypointFacts kind="actor" entrypoint={actor} />}
  </WithEntrypoint>
);

function EntrypointFacts({ kind, entrypoint }: { kind: EntrypointKind; entrypoint: Entrypoint }): ReactNode {
  const { declared_id: declaredId, description, payload_schema: schema } = entrypoint;
  return (
    <Page
      title={declaredId}
      subtitle={description ?? (kind === "task" ? "A task" : "An actor")}
      actions={
        <EnvironmentLink to={`${pageOf(kind)}/${declaredId}/start`} className={buttonClass("primary")}>
          <Play size={15} aria-hidden /> Start
        </EnvironmentLink>
      }
    >
      <ChartSection>
        <RunCharts of={kind === "task" ? { task: declaredId } : { actor: declaredId }} />
      </ChartSection>
      <RecentRuns kind={kind} declaredId={declaredId} />
      <Section title="Declaration">
        <Card>
          <Facts rows={factsOf(kind, entrypoint)} />
        </Card>
      </Section>
      <Section title="Payload schema">
        {schema === null ? (
          <p className="text-quiet">No schema is declared. Any JSON is accepted.</p>
        ) : (
          <JsonView label="schema" value={schema} />
        )}
      </Section>
    </Page>
  );
}

const describeFolders = (folders: Entrypoint["folders"]): string =>
  folders.length === 0
    ? "none"
    : folders
        .map(({ path, writable }) => `${path} (${writable === true ? "writable" : "read-only"})`)
        .join(", ");

const describeOnFailure = ({ session_on_failure: onFailure }: Actor): string =>
  onFailure === "keep_open" ? "the session stays open" : "the session ends";

const INPUT_DURING_TURN: Record<Actor["while_busy"], string> = {
  enqueue: "waits",
  interrupt: "interrupts what the turn writes",
  steer: "steers the turn",
  reject: "is rejected",
};

function factsOf(kind: EntrypointKind, entrypoint: Entrypoint): [string, ReactNode][] {
  const { retry, sandbox } = entrypoint;
  return [
    ["Queue", entrypoint.queue ?? "default"],
    ["Attempts", retry === null ? "as the server's default" : describeRetry(retry)],
    ["Maximum duration", entrypoint.max_duration ?? "none"],
    ["Time to live", entrypoint.ttl ?? "none"],
    ["Execution", entrypoint.execution],
    ...("session_on_failure" in entrypoint
      ? ([
          ["When a turn fails", describeOnFailure(entrypoint)],
          ["Input during a turn", INPUT_DURING_TURN[entrypoint.while_busy]],
        ] satisfies [string, ReactNode][])
      : []),
    ["Minimum isolation", entrypoint.isolation],
    ["Worker folders", describeFolders(entrypoint.folders)],
    ["Memory", entrypoint.memory_mb === null ? "as the worker's default" : `${entrypoint.memory_mb} MiB`],
    [
      "Sandbox",
      sandbox === null ? (
        "none"
      ) : (
        <EnvironmentLink key="sandbox" to={`sandboxes/${sandbox}`}>
          {sandbox}
        </EnvironmentLink>
      ),
    ],
    [
      "Declared by",
      <EnvironmentLink key="declared-by" to={`deployments/${entrypoint.deployment_id}`}>
        the current deployment
      </EnvironmentLink>,
    ],
    [kind === "task" ? "Task id" : "Actor id", <Id key="id" value={entrypoint.id} />],
  ];
}

function describeRetry({
  max_attempts: attempts,
  initial_delay: first,
  max_delay: most,
}: NonNullable<Entrypoint["retry"]>): string {
  const parts = [attempts === undefined ? "default" : `up to ${attempts}`];
  if (first !== undefined) parts.push(`first again after ${first}`);
  if (most !== undefined) parts.push(`at most ${most} apart`);
  return parts.join(", ");
}

const REFETCH_MS = 2000;
const SHOWN_RUNS = 10;

function RecentRuns({ kind, declaredId }: { kind: EntrypointKind; declaredId: string }): ReactNode {
  const recent = useItem(listRuns, {
    query: { [kind]: declaredId, limit: SHOWN_RUNS },
    refetchMs: REFETCH_MS,
  });
  return (
    <Section
      title="Recent runs"
      actions={
        <EnvironmentLink to="runs" search={{ [kind]: declaredId }}>
          All runs of this {kind}
        </EnvironmentLink>
      }
    >
      <Async result={recent}>
        {({ runs }) => {
          if (runs.length === 0) return <Empty title="No runs yet" />;
          return <RunTable label="Runs" runs={runs} />;
        }}
      </Async>
    </Section>
  );
}
