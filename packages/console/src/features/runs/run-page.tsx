import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { isNotFound } from "../../api/use-follow.ts";
import { NotFound } from "../../app/not-found.tsx";
import { Loading } from "../../ui/async.tsx";
import { ErrorPanel } from "../../ui/error-panel.tsx";
import { Page } from "../../ui/page.tsx";
import { Status } from "../../ui/status.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { Id } from "../../ui/copy-button.tsx";
import { runCommands } from "./commands-of.ts";
import { EventList } from "./event-list.tsx";
import { LogView } from "./log-view.tsx";
import { RunActions } from "./run-actions.tsx";
import { RunCommands } from "./run-commands.tsx";
import { RunData } from "./run-data.tsx";
import { RunHeader } from "./header/run-header.tsx";
import type { RunSearch, RunTab } from "./run-search.ts";
import { Timeline } from "./trace/timeline.tsx";
import { useRun } from "./use-run.ts";

/** One run. Another run is another page: nothing of the one before stays. */
export function RunPage(): ReactNode {
  const { runId } = useParams({ from: "/signed-in/e/$environmentId/runs/$runId" });
  return <OneRun key={runId} runId={runId} />;
}

function OneRun({ runId }: { runId: string }): ReactNode {
  const search = useSearch({ from: "/signed-in/e/$environmentId/runs/$runId" });
  const navigate = useNavigate({ from: "/e/$environmentId/runs/$runId" });
  const { run: result, events, follow } = useRun(runId);
  const { data: run, error, refetch } = result;
  if (run === undefined) {
    if (isNotFound(error)) return <NotFound />;
    return error === null ? <Loading /> : <ErrorPanel error={error} onRetry={() => void refetch()} />;
  }
  const tab: RunTab = search.tab ?? "timeline";
  const change = (next: RunSearch): void => void navigate({ search: next, replace: true });
  return (
    <Page
      title={run.task ?? run.actor ?? run.id}
      isWide
      subtitle={
        <span className="flex flex-wrap items-center gap-3">
          <Status value={run.status} />
          <Id value={run.id} />
        </span>
      }
      actions={
        <>
          <RunCommands commands={() => runCommands(run.id, tab, location.origin)} />
          <RunActions run={run} />
        </>
      }
    >
      <RunHeader run={run} events={events} follow={follow} />
      <Tabs
        label="Parts of the run"
        value={tab}
        onChange={(id) => void navigate({ search: id === "timeline" ? {} : { tab: id as RunTab } })}
        tabs={[
          {
            id: "timeline",
            label: "Timeline",
            content: <Timeline run={run} events={events} search={search} onChange={change} />,
          },
          {
            id: "events",
            label: "Events",
            content: <EventList events={events} search={search} onChange={change} />,
          },
          { id: "logs", label: "Logs", content: <LogView run={run} search={search} onChange={change} /> },
          { id: "data", label: "Data", content: <RunData run={run} /> },
        ]}
      />
    </Page>
  );
}
