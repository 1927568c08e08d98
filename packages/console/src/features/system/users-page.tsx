import type { AdminUser } from "@keelson/contract";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { send } from "../../api/client.ts";
import { useChange } from "../../api/use-action.ts";
import { at } from "../../api/route.ts";
import { adminListUsers, adminUpdateUser } from "../../api/routes/admin-users.ts";
import { useUser } from "../../app/session.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmButton } from "../../ui/dialog.tsx";
import { Empty } from "../../ui/empty.tsx";
import { TextField } from "../../ui/field.tsx";
import { formValues } from "../../ui/form-values.ts";
import { Status } from "../../ui/status.tsx";
import { ListTable, type Column } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { SYSTEM_KEY, SystemPage } from "./system-page.tsx";
import { useSystemList } from "./use-system-list.ts";

const COLUMNS: readonly Column<AdminUser>[] = [
  { heading: "User", cell: ({ email }) => email },
  {
    heading: "State",
    cell: ({ suspended_at }) => <Status value={suspended_at === null ? "active" : "suspended"} />,
  },
  { heading: "Admin", cell: ({ is_admin }) => (is_admin ? "yes" : "no") },
  { heading: "Organizations", isNumber: true, isOptional: true, cell: ({ organizations }) => organizations },
  { heading: "Since", isOptional: true, cell: ({ created_at }) => <Time at={created_at} /> },
  { heading: "Actions", cell: (user) => <UserActions user={user} /> },
];

export function UsersPage(): ReactNode {
  const { email } = useSearch({ from: "/signed-in/system/users" });
  const navigate = useNavigate({ from: "/system/users" });
  const list = useSystemList(adminListUsers, email === undefined ? {} : { query: { email } });
  return (
    <SystemPage title="Users">
      <form
        className="flex items-end gap-3"
        onSubmit={(event) => {
          const wanted = formValues(event).text("email");
          void navigate({ search: wanted === "" ? {} : { email: wanted } });
        }}
      >
        <TextField
          label="Mail address"
          name="email"
          type="search"
          placeholder="ada@example.com"
          defaultValue={email}
        />
        <Button type="submit">Find</Button>
      </form>
      <ListTable
        label="Users"
        columns={COLUMNS}
        rowKey={({ id }) => id}
        list={list}
        empty={<Empty title="No user has this mail address" />}
      />
    </SystemPage>
  );
}

function UserActions({ user }: { user: AdminUser }): ReactNode {
  const self = useUser();
  const change = useChange(
    SYSTEM_KEY,
    (body: { suspended?: boolean; is_admin?: boolean }) =>
      send(at(adminUpdateUser, { id: user.id }), { body }),
    { done: `${user.email} is changed.`, isShownInPlace: true },
  );
  if (user.id === self.id) return <span className="text-quiet">you</span>;
  const isSuspended = user.suspended_at !== null;
  return (
    <div className="flex gap-2">
      <ConfirmButton
        title={isSuspended ? `Restore access for ${user.email}?` : `Suspend ${user.email}?`}
        description={
          isSuspended
            ? "This person can sign in again."
            : "Keelson ends this person's sessions and refuses new sign-ins until you restore access."
        }
        verb={isSuspended ? "Let in" : "Suspend"}
        onConfirm={() => change.mutateAsync({ suspended: !isSuspended })}
      >
        {isSuspended ? "Let in" : "Suspend"}
      </ConfirmButton>
      <ConfirmButton
        title={user.is_admin ? `Take admin rights from ${user.email}?` : `Make ${user.email} an admin?`}
        description="Admins see and change all organizations, users and workers of this installation."
        verb={user.is_admin ? "Take" : "Make admin"}
        onConfirm={() => change.mutateAsync({ is_admin: !user.is_admin })}
      >
        {user.is_admin ? "No admin" : "Make admin"}
      </ConfirmButton>
    </div>
  );
}
