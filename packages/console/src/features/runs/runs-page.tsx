import { useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Loading } from "../../ui/async.tsx";
import { Button } from "../../ui/button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { ErrorPanel } from "../../ui/error-panel.tsx";
import { Page } from "../../ui/page.tsx";
import { BulkActions } from "./bulk-actions.tsx";
import { RunCommands } from "./run-commands.tsx";
import { runsCommands } from "./commands-of.ts";
import { hasFilters, type RunFilters } from "./run-filters.ts";
import { RunFilterBar } from "./run-filter-bar.tsx";
import { RunRows } from "./run-rows.tsx";
import { StatusFilter } from "./status-filter.tsx";
import { useRunList } from "./use-run-list.ts";

export function RunsPage(): ReactNode {
  const filters = useSearch({ from: "/signed-in/e/$environmentId/runs" });
  const navigate = useNavigate({ from: "/e/$environmentId/runs" });
  const change = (next: RunFilters): void => void navigate({ search: next });
  const loaded = useRunList(filters);
  const { list, error, refetch } = loaded;
  return (
    <Page
      title="Runs"
      isWide
      actions={
        <>
          {list.length > 0 && <BulkActions filters={filters} />}
          <RunCommands commands={() => runsCommands(filters, location.origin, Date.now())} />
        </>
      }
    >
      <StatusFilter filters={filters} onChange={change} />
      <RunFilterBar filters={filters} onChange={change} />
      {error !== null ? (
        <ErrorPanel error={error} onRetry={refetch} />
      ) : list.cursor === undefined ? (
        <Loading />
      ) : list.length > 0 ? (
        <RunRows key={JSON.stringify(filters)} {...loaded} statuses={filters.status} />
      ) : hasFilters(filters) ? (
        <Empty
          title="No runs match these filters"
          action={<Button onClick={() => change({})}>Show all runs</Button>}
        />
      ) : (
        <Empty title="No runs yet" command="keelson task start <task>">
          A run is one execution of a task, or of an actor’s turn. Start one, and it appears here on its own.
        </Empty>
      )}
    </Page>
  );
}
