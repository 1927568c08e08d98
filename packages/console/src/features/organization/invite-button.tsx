import { ROLES, type Role } from "@keelson/contract/plain";
import { UserPlus } from "lucide-react";
import type { ReactNode } from "react";
import { send } from "../../api/client.ts";
import { useChange } from "../../api/use-action.ts";
import { createInvitation } from "../../api/routes/people.ts";
import { SelectField, TextField } from "../../ui/field.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { organizationKey, useOrganization } from "./use-organization.ts";

const MEANING: Record<(typeof ROLES)[number], string> = {
  owner: "owner: everything, also other owners",
  admin: "admin: people, projects and keys",
  developer: "developer: everything in environments",
  viewer: "viewer: looks, changes nothing",
};

export function InviteButton(): ReactNode {
  const { id } = useOrganization();
  const invite = useChange(
    organizationKey(id),
    (body: { email: string; role: Role }) =>
      send(createInvitation, { body: { organization_id: id, ...body } }),
    { done: ({ email }) => `${email} is invited.`, isShownInPlace: true },
  );
  return (
    <FormDialog
      label="Invite a member"
      icon={<UserPlus size={15} aria-hidden />}
      kind="primary"
      title="Invite a member"
      description="Keelson mails a link that expires after 7 days. Without a mail server, the server writes the mail to its output."
      verb="Invite"
      onSubmit={async (values) =>
        void (await invite.mutateAsync({ email: values.text("email"), role: values.text("role") as Role }))
      }
    >
      <TextField label="Mail address" name="email" type="email" autoComplete="off" required />
      <SelectField
        label="Role"
        name="role"
        defaultValue="developer"
        options={ROLES.map((role) => [role, MEANING[role]])}
      />
    </FormDialog>
  );
}
