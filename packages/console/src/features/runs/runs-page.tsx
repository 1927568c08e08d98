import type { Run } from "@keelson/contract";
import type { ReactNode } from "react";
import { useList } from "../../api/use-list.ts";
import { Empty } from "../../ui/empty.tsx";
import { Id } from "../../ui/copy-button.tsx";
import { Page } from "../../ui/page.tsx";
import { Status } from "../../ui/status.tsx";
import { ListTable, type Column } from "../../ui/table.tsx";
import { Duration, Time } from "../../ui/time.tsx";

const COLUMNS: readonly Column<Run>[] = [
  { heading: "Run", cell: ({ id }) => <Id value={id} /> },
  { heading: "Task", cell: ({ task, actor }) => task ?? actor },
  { heading: "Status", cell: ({ status }) => <Status value={status} /> },
  { heading: "Created", cell: ({ created_at }) => <Time at={created_at} /> },
  {
    heading: "Took",
    isNumber: true,
    isOptional: true,
    cell: ({ started_at, finished_at }) => <Duration from={started_at} to={finished_at} />,
  },
];

export function RunsPage(): ReactNode {
  const list = useList<Run>("/api/runs", "runs", { refetchMs: 2000 });
  return (
    <Page title="Runs">
      <ListTable
        label="Runs"
        columns={COLUMNS}
        rowKey={({ id }) => id}
        list={list}
        empty={<Empty title="No runs yet" command="keelson run start <task>" />}
      />
    </Page>
  );
}
