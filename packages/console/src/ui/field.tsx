import { useId, type ComponentProps, type ReactNode } from "react";
import { cx } from "./class-names.ts";

export const inputClass =
  "w-full rounded-md border border-line bg-surface px-2.5 py-1.5 text-sm text-text aria-invalid:border-bad disabled:opacity-60";

type FieldParts = { id: string; "aria-describedby": string | undefined; "aria-invalid": true | undefined };

/** A labelled input with its hint, and with what is wrong with it just below it. */
export function Field({
  label,
  hint,
  error,
  children,
}: {
  label: string;
  hint?: ReactNode;
  error?: string | null | undefined;
  children: (parts: FieldParts) => ReactNode;
}): ReactNode {
  const id = useId();
  const hasError = error !== undefined && error !== null && error !== "";
  const described = [hint !== undefined && `${id}-hint`, hasError && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      {children({ id, "aria-describedby": described || undefined, "aria-invalid": hasError || undefined })}
      {hint !== undefined && (
        <p id={`${id}-hint`} className="text-xs text-quiet">
          {hint}
        </p>
      )}
      {hasError && (
        <p id={`${id}-error`} role="alert" className="text-xs text-bad">
          {error}
        </p>
      )}
    </div>
  );
}

type Common = { label: string; hint?: ReactNode; error?: string | null | undefined };

export function TextField({
  label,
  hint,
  error,
  className,
  ...input
}: Common & ComponentProps<"input">): ReactNode {
  return (
    <Field label={label} {...(hint !== undefined && { hint })} error={error}>
      {(parts) => <input {...input} {...parts} className={cx(inputClass, className)} />}
    </Field>
  );
}

export function TextAreaField({
  label,
  hint,
  error,
  className,
  ...input
}: Common & ComponentProps<"textarea">): ReactNode {
  return (
    <Field label={label} {...(hint !== undefined && { hint })} error={error}>
      {(parts) => (
        <textarea rows={6} {...input} {...parts} className={cx(inputClass, "font-mono text-xs", className)} />
      )}
    </Field>
  );
}

export function SelectField({
  label,
  hint,
  error,
  options,
  ...select
}: Common & ComponentProps<"select"> & { options: readonly (readonly [string, string])[] }): ReactNode {
  return (
    <Field label={label} {...(hint !== undefined && { hint })} error={error}>
      {(parts) => (
        <select {...select} {...parts} className={inputClass}>
          {options.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

export function CheckField({ label, ...input }: { label: string } & ComponentProps<"input">): ReactNode {
  return (
    <label className="inline-flex items-center gap-2">
      <input type="checkbox" className="size-4 accent-(--color-accent)" {...input} />
      {label}
    </label>
  );
}
