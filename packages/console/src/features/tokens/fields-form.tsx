import { useState, type ReactNode } from "react";
import { Button } from "../../ui/button.tsx";
import { CheckField, SelectField, TextField } from "../../ui/field.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import type { Completing } from "./complete-token.tsx";
import { toCompletion, type FieldValues, type FormField } from "./completion-form.ts";

/** The fields that the token's schema names. */
export function FieldsForm({
  fields,
  completing,
}: {
  fields: readonly FormField[];
  completing: Completing;
}): ReactNode {
  const [values, setValues] = useState<FieldValues>({});
  const [problems, setProblems] = useState<Record<string, string>>({});
  return (
    <form
      className="flex flex-col gap-3"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        const result = toCompletion(fields, values);
        setProblems("problems" in result ? result.problems : {});
        if ("data" in result) completing.mutate(result.data);
      }}
    >
      {fields.map((field) => (
        <FieldInput
          key={field.name}
          field={field}
          value={values[field.name]}
          error={problems[field.name]}
          onChange={(value) => setValues({ ...values, [field.name]: value })}
        />
      ))}
      <div>
        <Button type="submit" kind="primary" disabled={completing.isPending || completing.isSuccess}>
          Complete
        </Button>
      </div>
    </form>
  );
}

function FieldInput({
  field,
  value,
  error,
  onChange,
}: {
  field: FormField;
  value: string | boolean | undefined;
  error: string | undefined;
  onChange: (value: string | boolean) => void;
}): ReactNode {
  const label = visibleText(field.title ?? field.name);
  if (field.kind === "boolean")
    return (
      <CheckField
        label={label}
        checked={value === true}
        onChange={({ target }) => onChange(target.checked)}
      />
    );
  const common = {
    label,
    error,
    value: typeof value === "string" ? value : "",
    required: field.isRequired,
    ...(field.description !== null && { hint: visibleText(field.description) }),
  };
  if (field.kind === "choice")
    return (
      <SelectField
        {...common}
        options={[["", "Choose …"], ...field.choices.map((one) => [one, visibleText(one)] as const)]}
        onChange={({ target }) => onChange(target.value)}
      />
    );
  return (
    <TextField
      {...common}
      inputMode={field.kind === "text" ? "text" : "decimal"}
      onChange={({ target }) => onChange(target.value)}
    />
  );
}
