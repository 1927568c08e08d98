import type { Session } from "@keelson/contract";
import { SESSION_STATUSES } from "@keelson/contract/plain";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import type { ReactNode } from "react";
import { useList } from "../../api/use-list.ts";
import { listSessions } from "../../api/routes/sessions.ts";
import { definedFields } from "../../app/search-text.ts";
import { Button } from "../../ui/button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { FilterField, FilterSelect } from "../../ui/filter-field.tsx";
import { Page } from "../../ui/page.tsx";
import { ListTable, type Column } from "../../ui/table.tsx";
import { Tags } from "../../ui/tags.tsx";
import { Time } from "../../ui/time.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import { NewSession } from "./new-session.tsx";
import type { SessionsSearch } from "./session-routes.ts";
import { SessionStatus } from "./session-status.tsx";

const COLUMNS: readonly Column<Session>[] = [
  {
    heading: "Session",
    cell: ({ id, environment_id, external_id }) => (
      <Link
        to="/e/$environmentId/sessions/$sessionId"
        params={{ environmentId: environment_id, sessionId: id }}
        className="block max-w-72 font-medium text-accent hover:underline"
      >
        {external_id === null ? (
          <code className="block truncate font-mono text-xs">{id}</code>
        ) : (
          <>
            <bdi className="block truncate">{visibleText(external_id)}</bdi>
            <code className="block truncate font-mono text-xs font-normal text-quiet">{id}</code>
          </>
        )}
      </Link>
    ),
  },
  { heading: "Runs", cell: ({ actor, task }) => actor ?? task },
  { heading: "Status", cell: (session) => <SessionStatus session={session} /> },
  { heading: "Turn", isNumber: true, isOptional: true, cell: ({ turn }) => turn },
  { heading: "Tags", isOptional: true, cell: ({ tags }) => <Tags tags={tags} /> },
  { heading: "Created", cell: ({ created_at }) => <Time at={created_at} /> },
];

export function SessionsPage(): ReactNode {
  const { start, ...filters } = useSearch({ from: "/signed-in/e/$environmentId/sessions" });
  const navigate = useNavigate({ from: "/e/$environmentId/sessions" });
  const change = (changes: { [Name in keyof SessionsSearch]: SessionsSearch[Name] | undefined }): void =>
    void navigate({ search: (before) => definedFields({ ...before, ...changes }) });
  const list = useList(listSessions, { query: filters, refetchMs: 2000 });
  const isFiltered = Object.keys(filters).length > 0;
  return (
    <Page
      title="Sessions"
      actions={
        <Button kind="primary" icon={<Plus size={15} aria-hidden />} onClick={() => change({ start: "" })}>
          New session
        </Button>
      }
    >
      <div role="search" aria-label="Filters" className="flex flex-wrap gap-2">
        <FilterSelect
          label="Status"
          all="Any status"
          value={filters.status}
          words={SESSION_STATUSES}
          onChange={(status) => change({ status })}
        />
        <FilterField
          label="External id"
          value={filters.external_id}
          onChange={(external_id) => change({ external_id })}
        />
        <FilterField label="Actor" value={filters.actor} onChange={(actor) => change({ actor })} />
        <FilterField label="Tag" value={filters.tag} onChange={(tag) => change({ tag })} />
      </div>
      <ListTable
        label="Sessions"
        columns={COLUMNS}
        rowKey={({ id }) => id}
        list={list}
        empty={
          isFiltered ? (
            <Empty title="No sessions match these filters">Change the filters to see more.</Empty>
          ) : (
            <Empty title="No conversations yet" command="keelson session start --actor <actor>">
              A session is a conversation with an actor: it keeps its streams while runs come and go.
            </Empty>
          )
        }
      />
      {start !== undefined && <NewSession actor={start} onClose={() => change({ start: undefined })} />}
    </Page>
  );
}
