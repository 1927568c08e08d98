import type { Member } from "@keelson/contract";
import { ROLES, type Role } from "@keelson/contract/plain";
import type { ReactNode } from "react";
import { send } from "../../api/client.ts";
import { useChange } from "../../api/use-action.ts";
import { useRows } from "../../api/use-rows.ts";
import { at } from "../../api/route.ts";
import { listMembers, removeMember, updateMember } from "../../api/routes/people.ts";
import { useUser } from "../../app/session.ts";
import { ConfirmButton } from "../../ui/dialog.tsx";
import { Empty } from "../../ui/empty.tsx";
import { inputClass } from "../../ui/field.tsx";
import { ListTable } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { InviteButton } from "./invite-button.tsx";
import { OrganizationPage } from "./organization-page.tsx";
import { mayManage, organizationKey, useOrganization } from "./use-organization.ts";

export function MembersPage(): ReactNode {
  const organization = useOrganization();
  const scope = { organization_id: organization.id };
  const list = useRows(organizationKey(organization.id), listMembers, scope);
  return (
    <OrganizationPage title="Members" actions={mayManage(organization) && <InviteButton />}>
      <ListTable
        label="Members"
        columns={[
          { heading: "Member", cell: ({ name, email }) => <Person name={name} email={email} /> },
          { heading: "Role", cell: (member) => <RoleOf member={member} /> },
          { heading: "Since", isOptional: true, cell: ({ created_at }) => <Time at={created_at} /> },
          { heading: "Actions", cell: (member) => <RemoveMember member={member} /> },
        ]}
        rowKey={({ user_id }) => user_id}
        list={list}
        empty={<Empty title="No members" />}
      />
    </OrganizationPage>
  );
}

function Person({ name, email }: { name: string | null; email: string }): ReactNode {
  return (
    <>
      {name !== null && <span className="block font-medium">{name}</span>}
      <span className={name === null ? "" : "text-quiet"}>{email}</span>
    </>
  );
}

function RoleOf({ member }: { member: Member }): ReactNode {
  const organization = useOrganization();
  const change = useChange(
    organizationKey(organization.id),
    (role: Role) =>
      send(at(updateMember, { user_id: member.user_id }), {
        body: { organization_id: organization.id, role },
      }),
    { done: ({ email, role }) => `${email} is ${role}.` },
  );
  if (!mayManage(organization)) return member.role;
  return (
    <select
      aria-label={`Role of ${member.email}`}
      className={`${inputClass} max-w-36`}
      value={change.isPending ? change.variables : member.role}
      onChange={({ target }) => change.mutate(target.value as Role)}
    >
      {ROLES.map((role) => (
        <option key={role}>{role}</option>
      ))}
    </select>
  );
}

function RemoveMember({ member }: { member: Member }): ReactNode {
  const organization = useOrganization();
  const user = useUser();
  const isSelf = user.id === member.user_id;
  const remove = useChange(
    organizationKey(organization.id),
    () =>
      send(at(removeMember, { user_id: member.user_id }), { query: { organization_id: organization.id } }),
    { done: `${member.email} is no longer a member.`, isShownInPlace: true },
  );
  if (!mayManage(organization) && !isSelf) return null;
  return (
    <ConfirmButton
      title={isSelf ? `Leave ${organization.name}?` : `Remove ${member.email}?`}
      description="This person loses access at once and can be invited again. API keys that they created stay."
      name={member.email}
      verb={isSelf ? "Leave" : "Remove"}
      onConfirm={() => remove.mutateAsync()}
    >
      {isSelf ? "Leave" : "Remove"}
    </ConfirmButton>
  );
}
