import type { AdminOrganization, CreateOrganization as CreateOrganizationBody } from "@keelson/contract";
import { Plus } from "lucide-react";
import type { ReactNode } from "react";
import { send } from "../../api/client.ts";
import { useChange } from "../../api/use-action.ts";
import { adminCreateOrganization, adminListOrganizations } from "../../api/routes/admin-organizations.ts";
import { Id } from "../../ui/copy-button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { TextField } from "../../ui/field.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { ListTable, type Column } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { SYSTEM_KEY, SystemPage } from "./system-page.tsx";
import { useSystemList } from "./use-system-list.ts";

const COLUMNS: readonly Column<AdminOrganization>[] = [
  { heading: "Organization", cell: ({ name }) => name },
  { heading: "Id", isOptional: true, cell: ({ id }) => <Id value={id} /> },
  { heading: "Members", isNumber: true, cell: ({ members }) => members },
  { heading: "Projects", isNumber: true, cell: ({ projects }) => projects },
  { heading: "Created", cell: ({ created_at }) => <Time at={created_at} /> },
];

export function OrganizationsPage(): ReactNode {
  const list = useSystemList(adminListOrganizations);
  return (
    <SystemPage title="Organizations" actions={<CreateOrganization />}>
      <ListTable
        label="Organizations"
        columns={COLUMNS}
        rowKey={({ id }) => id}
        list={list}
        empty={<Empty title="No organizations yet" />}
      />
    </SystemPage>
  );
}

function CreateOrganization(): ReactNode {
  const create = useChange(
    SYSTEM_KEY,
    (body: CreateOrganizationBody) => send(adminCreateOrganization, { body }),
    { done: ({ name }) => `${name} is there.`, isShownInPlace: true },
  );
  return (
    <FormDialog
      label="Create an organization"
      icon={<Plus size={15} aria-hidden />}
      kind="primary"
      title="Create an organization"
      verb="Create"
      onSubmit={async (values) =>
        void (await create.mutateAsync({ name: values.text("name"), owner_email: values.text("owner") }))
      }
    >
      <TextField label="Name" name="name" maxLength={128} autoComplete="off" required />
      <TextField
        label="Mail address of the first owner"
        name="owner"
        type="email"
        hint="If this person has no account, Keelson creates one and mails a sign-in link to this address."
        required
      />
    </FormDialog>
  );
}
