import { Plus } from "lucide-react";
import type { ReactNode } from "react";
import { send } from "../../api/client.ts";
import { useChange } from "../../api/use-action.ts";
import { adminCreateWorkerGroup, adminListWorkerGroups } from "../../api/routes/admin-workers.ts";
import { Id } from "../../ui/copy-button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { TextField } from "../../ui/field.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { ListTable } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { SYSTEM_KEY, SystemPage } from "./system-page.tsx";
import { useSystemList } from "./use-system-list.ts";

export function WorkerGroupsPage(): ReactNode {
  const list = useSystemList(adminListWorkerGroups);
  const create = useChange(SYSTEM_KEY, (name: string) => send(adminCreateWorkerGroup, { body: { name } }), {
    done: ({ name }) => `${name} is there.`,
    isShownInPlace: true,
  });
  return (
    <SystemPage
      title="Worker groups"
      actions={
        <FormDialog
          label="Create a worker group"
          icon={<Plus size={15} aria-hidden />}
          kind="primary"
          title="Create a worker group"
          description="Workers of a group run only the environments that belong to the group."
          verb="Create"
          onSubmit={async (values) => void (await create.mutateAsync(values.text("name")))}
        >
          <TextField label="Name" name="name" maxLength={128} autoComplete="off" required />
        </FormDialog>
      }
    >
      <ListTable
        label="Worker groups"
        columns={[
          { heading: "Group", cell: ({ name }) => name },
          { heading: "Id", cell: ({ id }) => <Id value={id} /> },
          { heading: "Created", isOptional: true, cell: ({ created_at }) => <Time at={created_at} /> },
        ]}
        rowKey={({ id }) => id}
        list={list}
        empty={<Empty title="No worker groups" />}
      />
    </SystemPage>
  );
}
