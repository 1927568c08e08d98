import type { Schedule } from "@keelson/contract";
import { Plus } from "lucide-react";
import type { ReactNode } from "react";
import { useList } from "../../api/use-list.ts";
import { listSchedules } from "../../api/routes/schedules.ts";
import { EnvironmentLink } from "../../app/environment-link.tsx";
import { buttonClass } from "../../ui/button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Page } from "../../ui/page.tsx";
import { Status } from "../../ui/status.tsx";
import { ListTable, type Column } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { describeCron } from "./describe-cron.ts";

const COLUMNS: readonly Column<Schedule>[] = [
  {
    heading: "Schedule",
    cell: ({ id, deduplication_key: key }) => (
      <EnvironmentLink to={`schedules/${id}`} className="font-medium break-all text-accent hover:underline">
        {key}
      </EnvironmentLink>
    ),
  },
  { heading: "Task", cell: ({ task }) => task },
  {
    heading: "When",
    isOptional: true,
    cell: ({ cron, timezone }) => (
      <>
        <span>{describeCron(cron) ?? cron}</span>
        <span className="block font-mono text-xs text-quiet">
          {cron} · {timezone}
        </span>
      </>
    ),
  },
  { heading: "Status", cell: ({ status }) => <Status value={status} /> },
  { heading: "Next", cell: ({ next_run_at }) => <Time at={next_run_at} /> },
  { heading: "Last", isOptional: true, cell: ({ last_run_at }) => <Time at={last_run_at} /> },
];

const REFETCH_MS = 2000;

export function SchedulesPage(): ReactNode {
  const list = useList(listSchedules, { refetchMs: REFETCH_MS });
  const create = (
    <EnvironmentLink to="schedules/new" className={buttonClass("primary")}>
      <Plus size={15} aria-hidden /> New schedule
    </EnvironmentLink>
  );
  return (
    <Page title="Schedules" subtitle="A schedule starts runs of a task at given times." actions={create}>
      <ListTable
        label="Schedules"
        columns={COLUMNS}
        rowKey={({ id }) => id}
        list={list}
        empty={
          <Empty
            title="No schedules yet"
            command="keelson schedule create --key nightly --task TASK --cron '0 7 * * *'"
          >
            Create a schedule here or with the command line, or declare one beside its task in the code.
          </Empty>
        }
      />
    </Page>
  );
}
