import type { Worker, WorkerStatus } from "@keelson/contract";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { send } from "../../api/client.ts";
import { useChange } from "../../api/use-action.ts";
import { at } from "../../api/route.ts";
import { adminDrainWorker, adminListWorkers } from "../../api/routes/admin-workers.ts";
import { ConfirmButton } from "../../ui/dialog.tsx";
import { Empty } from "../../ui/empty.tsx";
import { SelectField } from "../../ui/field.tsx";
import { Status } from "../../ui/status.tsx";
import { ListTable, type Column } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { SYSTEM_KEY, SystemPage } from "./system-page.tsx";
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
  { heading: "Isolation", isOptional: true, cell: (worker) => <WorkerIsolation worker={worker} /> },
  { heading: "Version", isOptional: true, cell: ({ version }) => version ?? "–" },
  { heading: "Last seen", cell: ({ last_seen_at }) => <Time at={last_seen_at} /> },
  { heading: "Actions", cell: (worker) => <DrainWorker worker={worker} /> },
];

export function WorkersPage(): ReactNode {
  const search = useSearch({ from: "/signed-in/system/workers" });
  const status = STATUSES.find((one) => one === search.status);
  const navigate = useNavigate({ from: "/system/workers" });
  const list = useSystemList(adminListWorkers, {
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
          <Empty title="No workers match these filters" command="keelson agent --enrollment-token kl_enr_…">
            Agents enroll by a token of their group and run what is started.
          </Empty>
        }
      />
    </SystemPage>
  );
}

/** The tier for workspaces that held at the agent's start, and why it, or that of tasks, is not the stronger one. */
function WorkerIsolation({ worker }: { worker: Worker }): ReactNode {
  const { isolation, isolation_problem: problem, task_isolation_problem: ofTasks } = worker;
  return (
    <>
      {isolation ?? "–"}
      {problem !== null && <p className="max-w-96 text-xs break-words text-quiet">{problem}</p>}
      {ofTasks !== null && ofTasks !== problem && (
        <p className="max-w-96 text-xs break-words text-quiet">No tasks in the namespace tier. {ofTasks}</p>
      )}
    </>
  );
}

function DrainWorker({ worker }: { worker: Worker }): ReactNode {
  const drain = useChange(SYSTEM_KEY, () => send(at(adminDrainWorker, { id: worker.id })), {
    done: `${worker.name} takes nothing new.`,
    isShownInPlace: true,
  });
  if (worker.status !== "active" && worker.status !== "registered") return null;
  return (
    <ConfirmButton
      title={`Drain ${worker.name}?`}
      description="The worker takes no new work, hands back waiting runs, finishes running ones and exits."
      verb="Drain"
      onConfirm={() => drain.mutateAsync()}
    >
      Drain
    </ConfirmButton>
  );
}
