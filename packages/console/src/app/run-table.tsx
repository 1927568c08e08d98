import type { Run } from "@keelson/contract";
import type { ReactNode } from "react";
import { Status } from "../ui/status.tsx";
import { Table, type Column } from "../ui/table.tsx";
import { Duration, Time } from "../ui/time.tsx";
import { EnvironmentLink } from "./environment-link.tsx";

const COLUMNS: readonly Column<Run>[] = [
  {
    heading: "Run",
    cell: ({ id }) => (
      <EnvironmentLink to={`runs/${id}`}>
        <code className="font-mono text-xs whitespace-nowrap">{id}</code>
      </EnvironmentLink>
    ),
  },
  { heading: "Status", cell: ({ status }) => <Status value={status} /> },
  { heading: "Created", cell: ({ created_at }) => <Time at={created_at} /> },
  {
    heading: "Took",
    isNumber: true,
    isOptional: true,
    cell: ({ started_at, finished_at }) => <Duration from={started_at} to={finished_at} />,
  },
];

const WITH_ENTRYPOINT: readonly Column<Run>[] = [
  ...COLUMNS.slice(0, 1),
  { heading: "Task or actor", cell: ({ task, actor }) => task ?? actor },
  ...COLUMNS.slice(1),
];

/** A few runs of something, each leading to its own page. */
export const RunTable = ({
  label,
  runs,
  hasEntrypoint = false,
}: {
  label: string;
  runs: readonly Run[];
  /** They are not all of one task. */
  hasEntrypoint?: boolean;
}): ReactNode => (
  <Table
    label={label}
    columns={hasEntrypoint ? WITH_ENTRYPOINT : COLUMNS}
    rows={runs}
    rowKey={({ id }) => id}
  />
);
