import type { CreateApiKey as CreateApiKeyBody } from "@keelson/contract";
import { ENVIRONMENT_PERMISSIONS, type EnvironmentPermission } from "@keelson/contract/plain";
import { Plus } from "lucide-react";
import type { ReactNode } from "react";
import { send } from "../../api/client.ts";
import { usePlace } from "../../api/place.ts";
import { useChange } from "../../api/use-action.ts";
import { at } from "../../api/route.ts";
import { createApiKey } from "../../api/routes/api-keys.ts";
import { CheckField, SelectField, TextField } from "../../ui/field.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import type { FormValues } from "../../ui/form-values.ts";
import { ShownOnce } from "../../ui/shown-once.tsx";

const LIFETIMES = [
  ["", "Never"],
  ["7d", "In 7 days"],
  ["30d", "In 30 days"],
  ["90d", "In 90 days"],
  ["365d", "In a year"],
] as const;

export function CreateApiKey(): ReactNode {
  const place = usePlace();
  const create = useChange(
    ["e", place.environment_id],
    (body: CreateApiKeyBody) => send(at(createApiKey, place), { body }),
    { isShownInPlace: true },
  );
  const submit = async (values: FormValues): Promise<ReactNode> => {
    const expiresIn = values.text("expires_in");
    const { api_key: text } = await create.mutateAsync({
      name: values.text("name"),
      permissions: values.all("permissions") as EnvironmentPermission[],
      ...(expiresIn !== "" && { expires_in: expiresIn }),
    });
    return <ShownOnce what="The API key" text={text} use={`export KEELSON_API_KEY=${text}`} />;
  };
  return (
    <FormDialog
      label="Create an API key"
      icon={<Plus size={15} aria-hidden />}
      kind="primary"
      title="Create an API key"
      verb="Create"
      onSubmit={submit}
    >
      <TextField label="Name" name="name" maxLength={128} autoComplete="off" required />
      <SelectField label="Expires" name="expires_in" options={LIFETIMES} />
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-1 text-sm font-medium">Permissions</legend>
        <div className="grid max-h-60 gap-1 overflow-y-auto rounded-md border border-line p-2 sm:grid-cols-2">
          {ENVIRONMENT_PERMISSIONS.map((permission) => (
            <CheckField
              key={permission}
              label={permission}
              name="permissions"
              value={permission}
              defaultChecked
            />
          ))}
        </div>
      </fieldset>
    </FormDialog>
  );
}
