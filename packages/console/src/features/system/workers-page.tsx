import type { Worker, WorkerStatus } from "@keelson/contract";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { send } from "../../api/client.ts";
import { useChange } from "../../api/use-action.ts";
import { ConfirmButton } from "../../ui/dialog.tsx";
import { Empty } from "../../ui/empty.tsx";
import { SelectField } from "../../ui/field.tsx";
import { Status } from "../../ui/status.tsx";
import { ListTable, type Column } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { ADMIN, SYSTEM_KEY, SystemPage } from "./system-page.tsx";
import { useSystemList } from "./use-system-list.ts";

const REFETCH_MS = 2000;
const STATUSES: readonly WorkerStatus[] = ["registered", "active", "draining", "drained", "lost"];

const COLUMNS: readonly Column<Worker>[] = [
  { heading: "Worker", cell: ({ name }) => name },
  { heading: "Status", cell: ({ status }) => <Status value={status} /> },
  {
    heading: "Executions",
    isNumber: true,
    cell: ({ in_use, capacity }) => `${in_use.executions} of ${capacity.executions}`,
  },
  {
    heading: "Workspaces",
    isNumber: true,
    isOptional: true,
    cell: ({ in_use, capacity }) => `${in_use.workspaces} of ${capacity.workspaces}`,
  },
  { heading: "Version", isOptional: true, cell: ({ version }) => version ?? "–" },
  { heading: "Last seen", cell: ({ last_seen_at }) => <Time at={last_seen_at} /> },
  { heading: "Actions", cell: (worker) => <DrainWorker worker={worker} /> },
];

export function WorkersPage(): ReactNode {
  const { status } = useSearch({ from: "/signed-in/system/workers" });
  const navigate = useNavigate({ from: "/system/workers" });
  const list = useSystemList<Worker>("workers", {
    refetchMs: REFETCH_MS,
    ...(status !== undefined && { query: { status } }),
  });
  return (
    <SystemPage title="Workers">
      <div className="max-w-48">
        <SelectField
          label="Status"
          value={status ?? ""}
          onChange={({ target }) =>
            void navigate({ search: target.value === "" ? {} : { status: target.value } })
          }
          options={[["", "all"], ...STATUSES.map((one) => [one, one] as const)]}
        />
      </div>
      <ListTable
        label="Workers"
        columns={COLUMNS}
        rowKey={({ id }) => id}
        list={list}
        empty={
          <Empty title="No such workers" command="keelson agent --enrollment-token kl_enr_…">
            Agents enroll by a token of their group and run what is started.
          </Empty>
        }
      />
    </SystemPage>
  );
}

function DrainWorker({ worker }: { worker: Worker }): ReactNode {
  const drain = useChange(
    SYSTEM_KEY,
    () => send<Worker>("POST", `${ADMIN}/workers/${worker.id}/drain`, { body: {} }),
    { done: `${worker.name} takes nothing new.`, isShownInPlace: true },
  );
  if (worker.status !== "active" && worker.status !== "registered") return null;
  return (
    <ConfirmButton
      title={`Drain ${worker.name}?`}
      description="It takes nothing new, hands back what waits, finishes what runs, and ends."
      verb="Drain"
      onConfirm={() => drain.mutateAsync()}
    >
      Drain
    </ConfirmButton>
  );
}
