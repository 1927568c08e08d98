import type { Invitation } from "@keelson/contract";
import { ROLES } from "@keelson/contract/plain";
import { UserPlus } from "lucide-react";
import type { ReactNode } from "react";
import { send } from "../../api/client.ts";
import { useChange } from "../../api/use-action.ts";
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
    (body: { email: string; role: string }) =>
      send<Invitation>("POST", "/api/invitations", { body: { organization_id: id, ...body } }),
    { done: ({ email }) => `${email} is invited.`, isShownInPlace: true },
  );
  return (
    <FormDialog
      label="Invite a member"
      icon={<UserPlus size={15} aria-hidden />}
      kind="primary"
      title="Invite a member"
      description="They get a mail with a link that is good for 7 days. Without a mail server it stands where the server writes its output."
      verb="Invite"
      onSubmit={async (values) =>
        void (await invite.mutateAsync({ email: values.text("email"), role: values.text("role") }))
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
