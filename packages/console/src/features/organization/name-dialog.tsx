import type { ReactNode } from "react";
import type { ButtonKind } from "../../ui/button.tsx";
import { TextField } from "../../ui/field.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";

/** Names a new project or environment, or renames one (`of`). */
export function NameDialog({
  label,
  icon,
  kind = "plain",
  verb,
  of,
  onSubmit,
}: {
  label: string;
  icon: ReactNode;
  kind?: ButtonKind;
  verb: string;
  of?: { name: string; slug: string };
  onSubmit: (names: { name: string; slug?: string }) => Promise<unknown>;
}): ReactNode {
  return (
    <FormDialog
      label={label}
      icon={icon}
      kind={kind}
      title={of === undefined ? label : `Rename ${of.name}`}
      verb={verb}
      onSubmit={async (values) => {
        const slug = values.text("slug");
        await onSubmit({ name: values.text("name"), ...(slug !== "" && slug !== of?.slug && { slug }) });
      }}
    >
      <TextField
        label="Name"
        name="name"
        maxLength={128}
        defaultValue={of?.name}
        autoComplete="off"
        required
      />
      <TextField
        label="Slug"
        name="slug"
        defaultValue={of?.slug}
        autoComplete="off"
        hint="The short name that commands use. Leave empty to derive it from the name."
      />
    </FormDialog>
  );
}
