import type { Invitation } from "@keelson/contract";
import type { ReactNode } from "react";
import { send } from "../../api/client.ts";
import { useChange } from "../../api/use-action.ts";
import { useRows } from "../../api/use-rows.ts";
import { at } from "../../api/route.ts";
import { listInvitations, revokeInvitation } from "../../api/routes/people.ts";
import { ConfirmButton } from "../../ui/dialog.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Status } from "../../ui/status.tsx";
import { ListTable, type Column } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { InviteButton } from "./invite-button.tsx";
import { OrganizationPage } from "./organization-page.tsx";
import { mayManage, organizationKey, useOrganization } from "./use-organization.ts";

const COLUMNS: readonly Column<Invitation>[] = [
  { heading: "Mail address", cell: ({ email }) => email },
  { heading: "Role", cell: ({ role }) => role },
  { heading: "Status", cell: ({ status }) => <Status value={status} /> },
  { heading: "Sent", isOptional: true, cell: ({ created_at }) => <Time at={created_at} /> },
  { heading: "Expires", isOptional: true, cell: ({ expires_at }) => <Time at={expires_at} /> },
  { heading: "Actions", cell: (invitation) => <RevokeInvitation invitation={invitation} /> },
];

export function InvitationsPage(): ReactNode {
  const organization = useOrganization();
  const scope = { organization_id: organization.id };
  const list = useRows(organizationKey(organization.id), listInvitations, scope);
  return (
    <OrganizationPage title="Invitations" actions={mayManage(organization) && <InviteButton />}>
      <ListTable
        label="Invitations"
        columns={COLUMNS}
        rowKey={({ id }) => id}
        list={list}
        empty={
          <Empty
            title="No pending invitations"
            command="keelson invitation create ada@example.com --role developer"
          >
            Whoever is invited gets a link by mail.
          </Empty>
        }
      />
    </OrganizationPage>
  );
}

function RevokeInvitation({ invitation }: { invitation: Invitation }): ReactNode {
  const organization = useOrganization();
  const revoke = useChange(
    organizationKey(organization.id),
    () =>
      send(at(revokeInvitation, { id: invitation.id }), {
        query: { organization_id: organization.id },
      }),
    { done: `The invitation of ${invitation.email} is revoked.`, isShownInPlace: true },
  );
  if (invitation.status !== "open" || !mayManage(organization)) return null;
  return (
    <ConfirmButton
      title={`Revoke the invitation of ${invitation.email}?`}
      description="The invitation link stops working. They can be invited again."
      verb="Revoke"
      onConfirm={() => revoke.mutateAsync()}
    >
      Revoke
    </ConfirmButton>
  );
}
