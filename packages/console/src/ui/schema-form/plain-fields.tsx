import { useState, type ReactNode } from "react";
import { cx } from "../class-names.ts";
import { CheckField, Field, inputClass, SelectField, TextAreaField, TextField } from "../field.tsx";
import { visibleText } from "../visible-text.ts";
import { checkText } from "./check-text.ts";
import { useFormState, type ShapeProps } from "./form-state.ts";
import { listOf, numberOf, textOf } from "./json-schema.ts";
import { parseJson, parseNumber, Unparsed } from "./unparsed.ts";

/** More than this is written on several lines. */
const LINE_CHARACTERS = 120;

export const labelOf = ({ label, isRequired }: { label: string; isRequired: boolean }): string =>
  isRequired ? label : `${label} (optional)`;

type Common = { label: string; hint?: ReactNode; error: string | null; onBlur: () => void };

export function useCommon({ hint, path, ...props }: ShapeProps): Common {
  const { issueAt, touch } = useFormState();
  return {
    label: labelOf(props),
    error: issueAt(path),
    onBlur: () => touch(path),
    ...(hint !== null && { hint }),
  };
}

/** An emptied field is left out, unless the empty text is what is needed. */
export function TextValueField(props: ShapeProps): ReactNode {
  const { shape, value, onChange, isRequired } = props;
  const { onBlur, ...common } = useCommon(props);
  const { schema } = shape;
  const [example] = listOf(schema, "examples");
  const input = {
    value: typeof value === "string" ? value : "",
    onBlur,
    placeholder: typeof example === "string" ? visibleText(example) : undefined,
    spellCheck: false,
    onChange: ({ target }: { target: { value: string } }) =>
      onChange(
        target.value === "" && (!isRequired || checkText(schema, "").length > 0) ? undefined : target.value,
      ),
  };
  const format = textOf(schema, "format");
  const isLine =
    format !== null ||
    textOf(schema, "pattern") !== null ||
    (numberOf(schema, "maxLength") ?? 1e9) <= LINE_CHARACTERS;
  if (isLine) return <TextField {...common} {...input} type={format === "date" ? "date" : "text"} />;
  return (
    <Field {...common}>
      {(parts) => (
        <textarea
          {...input}
          {...parts}
          rows={1}
          className={cx(inputClass, "field-sizing-content max-h-60 resize-none")}
        />
      )}
    </Field>
  );
}

export function NumberField(props: ShapeProps): ReactNode {
  const { value, onChange, shape } = props;
  const common = useCommon(props);
  // `1.` is on the way to another number than 1: what was typed stays.
  const [text, setText] = useState(() => (value === undefined ? "" : textOfJson(value)));
  return (
    <TextField
      {...common}
      className="max-w-60"
      inputMode="decimal"
      autoComplete="off"
      value={text}
      onChange={({ target }) => {
        setText(target.value);
        onChange(parseNumber(target.value, shape.kind === "integer"));
      }}
    />
  );
}

export function YesNoField(props: ShapeProps): ReactNode {
  const { label, value, onChange, isRequired, hint } = props;
  const common = useCommon(props);
  if (isRequired)
    return (
      <div className="flex flex-col gap-1">
        <CheckField
          label={label}
          checked={value === true}
          onChange={({ target }) => onChange(target.checked)}
        />
        {hint !== null && <p className="text-xs text-quiet">{hint}</p>}
      </div>
    );
  return (
    <SelectField
      {...common}
      value={typeof value === "boolean" ? String(value) : ""}
      options={[
        ["", "Not given"],
        ["true", "true"],
        ["false", "false"],
      ]}
      onChange={({ target }) => onChange(target.value === "" ? undefined : target.value === "true")}
    />
  );
}

/** Whatever has no fields of its own: maps, tuples, and what may be anything. */
export function JsonField(props: ShapeProps): ReactNode {
  const { value, onChange, hint } = props;
  const { hint: _, ...common } = useCommon(props);
  const [text, setText] = useState(() => textOfJson(value));
  return (
    <TextAreaField
      {...common}
      hint={hint === null ? "JSON." : `${hint} JSON.`}
      rows={3}
      spellCheck={false}
      value={text}
      onChange={({ target }) => {
        setText(target.value);
        onChange(parseJson(target.value));
      }}
    />
  );
}

export const textOfJson = (value: unknown): string =>
  value instanceof Unparsed ? value.text : (JSON.stringify(value, null, 2) ?? "");
