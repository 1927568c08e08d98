import type { Secret } from "@keelson/contract";
import { Plus, RotateCw } from "lucide-react";
import type { ReactNode } from "react";
import { send } from "../../api/client.ts";
import { useAction } from "../../api/use-action.ts";
import { useList } from "../../api/use-list.ts";
import { at } from "../../api/route.ts";
import { deleteSecret, listSecrets, putSecret } from "../../api/routes/secrets.ts";
import { ConfirmButton } from "../../ui/dialog.tsx";
import { Empty } from "../../ui/empty.tsx";
import { TextAreaField, TextField } from "../../ui/field.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import type { FormValues } from "../../ui/form-values.ts";
import { Page } from "../../ui/page.tsx";
import { Status } from "../../ui/status.tsx";
import { ListTable, type Column } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";

/** Values go in and never come out: only names, versions and times are shown. */
export function SecretsPage(): ReactNode {
  const list = useList(listSecrets);
  return (
    <Page
      title="Secrets"
      subtitle="Keelson gives secrets to the tasks that declare them. Values are never shown again."
      actions={<SetSecret />}
    >
      <ListTable
        label="Secrets"
        columns={COLUMNS}
        rowKey={({ id }) => id}
        list={list}
        empty={
          <Empty title="No secrets yet" command="keelson secret set MODEL_API_KEY">
            Tasks and sandboxes name the secrets they need; each has a value in every environment.
          </Empty>
        }
      />
    </Page>
  );
}

const COLUMNS: readonly Column<Secret>[] = [
  { heading: "Name", cell: ({ name }) => <code className="font-mono">{name}</code> },
  { heading: "Status", cell: ({ status }) => <Status value={status} /> },
  { heading: "Version", isNumber: true, cell: ({ version }) => version },
  { heading: "Set", cell: ({ rotated_at, created_at }) => <Time at={rotated_at ?? created_at} /> },
  { heading: "Last used", isOptional: true, cell: ({ last_used_at }) => <Time at={last_used_at} /> },
  { heading: "Actions", cell: (secret) => <SecretActions secret={secret} /> },
];

function ValueField(): ReactNode {
  return <TextAreaField label="Value" name="value" rows={3} autoComplete="off" spellCheck={false} required />;
}

const usePutSecret = () =>
  useAction(
    (place, { name, value }: { name: string; value: string }) =>
      send(at(putSecret, { name }), { body: { ...place, value } }),
    { done: ({ name, version }) => `${name} has version ${version}.`, isShownInPlace: true },
  );

function SetSecret(): ReactNode {
  const put = usePutSecret();
  const submit = async (values: FormValues): Promise<void> => {
    // Untrimmed: blanks at the ends may be part of a value.
    await put.mutateAsync({ name: values.text("name"), value: values.all("value")[0] ?? "" });
  };
  return (
    <FormDialog
      label="Set a secret"
      icon={<Plus size={15} aria-hidden />}
      kind="primary"
      title="Set a secret"
      description="If the name exists, the secret gets a new version. Running attempts keep the old value."
      verb="Set"
      onSubmit={submit}
    >
      <TextField
        label="Name"
        name="name"
        autoComplete="off"
        pattern="[A-Za-z_][A-Za-z0-9_]{0,127}"
        hint="Use letters, digits and _, and start with no digit. Tasks that declare the secret read it from ctx.secrets."
        required
      />
      <ValueField />
    </FormDialog>
  );
}

function SecretActions({ secret }: { secret: Secret }): ReactNode {
  const { name } = secret;
  const put = usePutSecret();
  const remove = useAction((place) => send(at(deleteSecret, { name }), { query: place }), {
    done: `${name} is deleted.`,
    isShownInPlace: true,
  });
  return (
    <div className="flex gap-2">
      <FormDialog
        label="New value"
        icon={<RotateCw size={14} aria-hidden />}
        title={`New value for ${name}`}
        description="Running attempts keep the old value."
        verb="Set"
        onSubmit={async (values) =>
          void (await put.mutateAsync({ name, value: values.all("value")[0] ?? "" }))
        }
      >
        <ValueField />
      </FormDialog>
      <ConfirmButton
        title={`Delete ${name}?`}
        description="Keelson destroys all values of this secret. Runs that need it fail when a worker leases them. You cannot undo this."
        name={name}
        verb="Delete"
        onConfirm={() => remove.mutateAsync()}
      >
        Delete
      </ConfirmButton>
    </div>
  );
}
