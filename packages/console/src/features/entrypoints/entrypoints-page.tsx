import type { ReactNode } from "react";
import { EnvironmentLink } from "../../app/environment-link.tsx";
import { Async } from "../../ui/async.tsx";
import { buttonClass } from "../../ui/button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Page } from "../../ui/page.tsx";
import { Table, type Column } from "../../ui/table.tsx";
import { pageOf, useEntrypoints, type Entrypoint, type EntrypointKind } from "./entrypoint-kind.ts";

export const TasksPage = (): ReactNode => <Entrypoints kind="task" />;
export const ActorsPage = (): ReactNode => <Entrypoints kind="actor" />;

const columnsOf = (kind: EntrypointKind): readonly Column<Entrypoint>[] => [
  {
    heading: kind === "task" ? "Task" : "Actor",
    cell: ({ declared_id: id }) => (
      <EnvironmentLink
        to={`${pageOf(kind)}/${id}`}
        className="font-medium break-all text-accent hover:underline"
      >
        {id}
      </EnvironmentLink>
    ),
  },
  {
    heading: "Description",
    isOptional: true,
    cell: ({ description }) => <span className="line-clamp-2 text-quiet">{description ?? "–"}</span>,
  },
  { heading: "Queue", isOptional: true, cell: ({ queue }) => queue ?? "default" },
  {
    heading: "Start",
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
    >
      <Async result={useEntrypoints(kind)}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty title={`The current deployment declares no ${noun}`} command="keelson deploy">
              Declare one with {kind}() in your project and deploy it.
            </Empty>
          ) : (
            <Table
              label={kind === "task" ? "Tasks" : "Actors"}
              columns={columnsOf(kind)}
              rows={rows}
              rowKey={({ id }) => id}
            />
          )
        }
      </Async>
    </Page>
  );
}
