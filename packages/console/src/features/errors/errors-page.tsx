import type { ErrorGroup } from "@keelson/contract";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useList } from "../../api/use-list.ts";
import { listErrorGroups } from "../../api/routes/error-groups.ts";
import { EnvironmentLink } from "../../app/environment-link.tsx";
import { definedFields } from "../../app/search-text.ts";
import { Empty } from "../../ui/empty.tsx";
import { inputClass } from "../../ui/field.tsx";
import { FilterField, FilterSelect } from "../../ui/filter-field.tsx";
import { Page } from "../../ui/page.tsx";
import { ListTable, type Column } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import { ERROR_FILTERS, type ErrorsSearch } from "./error-routes.ts";
import { GroupStatus } from "./group-status.tsx";

const COLUMNS: readonly Column<ErrorGroup>[] = [
  {
    heading: "Error",
    cell: ({ id, title, frame }) => (
      <span className="block min-w-48">
        <EnvironmentLink
          to={`errors/${id}`}
          className="line-clamp-2 font-medium break-words text-accent hover:underline"
        >
          <bdi>{visibleText(title)}</bdi>
        </EnvironmentLink>
        {frame !== null && (
          <bdi className="block font-mono text-xs break-all text-quiet">{visibleText(frame)}</bdi>
        )}
      </span>
    ),
  },
  { heading: "Runs", isNumber: true, cell: ({ count }) => count.toLocaleString() },
  { heading: "Last seen", cell: ({ last_seen_at: at }) => <Time at={at} /> },
  { heading: "First seen", isOptional: true, cell: ({ first_seen_at: at }) => <Time at={at} /> },
  {
    heading: "Tasks and actors",
    isOptional: true,
    cell: ({ tasks, actors }) => [...tasks, ...actors].join(", "),
  },
  { heading: "Status", cell: (group) => <GroupStatus group={group} /> },
];

const REFETCH_MS = 2000;

/** What goes wrong, once for all runs that failed in the same way. */
export function ErrorsPage(): ReactNode {
  const search = useSearch({ from: "/signed-in/e/$environmentId/errors" });
  const navigate = useNavigate({ from: "/e/$environmentId/errors" });
  const change = (changes: { [Name in keyof ErrorsSearch]: ErrorsSearch[Name] | undefined }): void =>
    void navigate({ search: (before) => definedFields({ ...before, ...changes }) });
  const { status = "open", order, task } = search;
  const list = useList(listErrorGroups, {
    query: { status: status === "all" ? undefined : [status], order, task },
    refetchMs: REFETCH_MS,
  });
  return (
    <Page title="Errors" subtitle="Runs that failed in the same way are one error.">
      <div role="search" aria-label="Filters" className="flex flex-wrap gap-2">
        <FilterSelect
          label="Status"
          all="open"
          value={status === "open" ? undefined : status}
          words={ERROR_FILTERS.filter((word) => word !== "open")}
          onChange={(value) => change({ status: value })}
        />
        <select
          aria-label="Order"
          className={inputClass}
          style={{ width: "auto" }}
          value={order ?? "last_seen"}
          onChange={({ target }) => change({ order: target.value === "count" ? "count" : undefined })}
        >
          <option value="last_seen">Last seen first</option>
          <option value="count">Most runs first</option>
        </select>
        <FilterField label="Task" value={task} onChange={(value) => change({ task: value })} />
      </div>
      <ListTable
        label="Errors"
        columns={COLUMNS}
        rowKey={({ id }) => id}
        list={list}
        empty={
          status !== "open" || task !== undefined ? (
            <Empty title="No errors match these filters">Change the filters to see more.</Empty>
          ) : (
            <Empty title="No open errors" command="keelson error list">
              When a run fails, its error appears here on its own.
            </Empty>
          )
        }
      />
    </Page>
  );
}
