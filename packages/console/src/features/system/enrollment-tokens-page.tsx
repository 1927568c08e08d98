import type { CreateEnrollmentToken, EnrollmentToken } from "@keelson/contract";
import { Plus } from "lucide-react";
import type { ReactNode } from "react";
import { send } from "../../api/client.ts";
import { useChange } from "../../api/use-action.ts";
import { at } from "../../api/route.ts";
import {
  adminCreateEnrollmentToken,
  adminListEnrollmentTokens,
  adminListWorkerGroups,
  adminRevokeEnrollmentToken,
} from "../../api/routes/admin-workers.ts";
import { ConfirmButton } from "../../ui/dialog.tsx";
import { Empty } from "../../ui/empty.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import type { FormValues } from "../../ui/form-values.ts";
import { ShownOnce } from "../../ui/shown-once.tsx";
import { Status } from "../../ui/status.tsx";
import { ListTable, type Column } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { SYSTEM_KEY, SystemPage } from "./system-page.tsx";
import { useSystemList } from "./use-system-list.ts";

const COLUMNS: readonly Column<EnrollmentToken>[] = [
  { heading: "Token", cell: ({ name }) => name },
  {
    heading: "State",
    cell: ({ revoked_at }) => <Status value={revoked_at === null ? "active" : "revoked"} />,
  },
  { heading: "Created", isOptional: true, cell: ({ created_at }) => <Time at={created_at} /> },
  { heading: "Expires", cell: ({ expires_at }) => <Time at={expires_at} /> },
  { heading: "Actions", cell: (token) => <RevokeToken token={token} /> },
];

export function EnrollmentTokensPage(): ReactNode {
  const list = useSystemList(adminListEnrollmentTokens);
  return (
    <SystemPage title="Enrollment tokens" actions={<CreateToken />}>
      <ListTable
        label="Enrollment tokens"
        columns={COLUMNS}
        rowKey={({ id }) => id}
        list={list}
        empty={
          <Empty title="No enrollment tokens">An enrollment token lets an agent join a worker group.</Empty>
        }
      />
    </SystemPage>
  );
}

function CreateToken(): ReactNode {
  const groups = useSystemList(adminListWorkerGroups, { limit: 200 });
  const create = useChange(
    SYSTEM_KEY,
    (body: CreateEnrollmentToken) => send(adminCreateEnrollmentToken, { body }),
    { isShownInPlace: true },
  );
  const submit = async (values: FormValues): Promise<ReactNode> => {
    const { enrollment_token: text } = await create.mutateAsync({
      name: values.text("name"),
      worker_group_id: values.text("group"),
    });
    const use = `KEELSON_ENROLLMENT_TOKEN=${text} keelson agent`;
    return <ShownOnce what="Enrollment token" text={text} use={use} />;
  };
  return (
    <FormDialog
      label="Create an enrollment token"
      icon={<Plus size={15} aria-hidden />}
      kind="primary"
      title="Create an enrollment token"
      verb="Create"
      onSubmit={submit}
    >
      <TextField label="Name" name="name" maxLength={128} autoComplete="off" required />
      <SelectField
        label="Worker group"
        name="group"
        options={groups.rows.map(({ id, name }) => [id, name] as const)}
      />
    </FormDialog>
  );
}

function RevokeToken({ token }: { token: EnrollmentToken }): ReactNode {
  const revoke = useChange(SYSTEM_KEY, () => send(at(adminRevokeEnrollmentToken, { id: token.id })), {
    done: `${token.name} is revoked.`,
    isShownInPlace: true,
  });
  if (token.revoked_at !== null) return null;
  return (
    <ConfirmButton
      title={`Revoke ${token.name}?`}
      description="Agents can no longer enroll with this token. Enrolled workers stay."
      verb="Revoke"
      onConfirm={() => revoke.mutateAsync()}
    >
      Revoke
    </ConfirmButton>
  );
}
