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
import { ColumnMenu } from "./column-menu.tsx";
import { DEFAULT_COLUMNS, type RunsSearch } from "./run-columns.ts";
import { hasFilters, type RunFilters } from "./run-filters.ts";
import { RunFilterBar } from "./run-filter-bar.tsx";
import { useChecked } from "./use-checked.ts";
import { RunRows } from "./run-rows.tsx";
import { SavedViews } from "./saved-views.tsx";
import { StatusFilter } from "./status-filter.tsx";
import { useRunList } from "./use-run-list.ts";

export function RunsPage(): ReactNode {
  const { columns: chosen, ...filters } = useSearch({ from: "/signed-in/e/$environmentId/runs" });
  const columns = chosen ?? DEFAULT_COLUMNS;
  const navigate = useNavigate({ from: "/e/$environmentId/runs" });
  const go = (next: RunsSearch): void => void navigate({ search: next });
  const change = (next: RunFilters): void =>
    go({ ...next, ...(chosen !== undefined && { columns: chosen }) });
  const loaded = useRunList(filters);
  const { list, error, refetch } = loaded;
  const { checked, check } = useChecked(JSON.stringify(filters));
  return (
    <Page
      title="Runs"
      isWide
      actions={
        <>
          {list.length > 0 && <BulkActions filters={filters} chosen={checked} />}
          <SavedViews view={{ ...filters, ...(chosen !== undefined && { columns: chosen }) }} onOpen={go} />
          <ColumnMenu columns={columns} onChange={(next) => go({ ...filters, columns: next })} />
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
      ) : list.length === 0 && list.cursor !== null && loaded.olderError !== null ? (
        <ErrorPanel error={loaded.olderError} onRetry={loaded.loadOlder} />
      ) : list.length === 0 && list.cursor !== null ? (
        <p role="status" className="text-quiet">
          Looking at older runs …
        </p>
      ) : list.length > 0 ? (
        <RunRows
          key={JSON.stringify(filters)}
          {...loaded}
          statuses={filters.status}
          checked={checked}
          onCheck={check}
          columns={columns}
        />
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
