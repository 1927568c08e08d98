import { useState, type ReactNode } from "react";
import { SelectField } from "../field.tsx";
import { visibleText } from "../visible-text.ts";
import { closestVariant } from "./check-value.ts";
import { useFormState, type ShapeProps } from "./form-state.ts";
import { initialValue } from "./initial-value.ts";
import { describeSchema } from "./json-schema.ts";
import { Members } from "./group-field.tsx";
import { useCommon } from "./plain-fields.tsx";

const NONE = -1;

/** One of several forms of a value. Another choice begins again. */
export function VariantsField(props: ShapeProps): ReactNode {
  const { shape, label, path, value, onChange, isRequired } = props;
  const { root, Field } = useFormState();
  const { hint, ...common } = useCommon(props);
  const [chosen, setChosen] = useState(() =>
    value === undefined && !isRequired
      ? NONE
      : closestVariant(
          shape.variants.map(({ schema }) => schema),
          value,
          root,
        ),
  );
  const variant = shape.variants[chosen];
  const inner = variant === undefined ? null : describeSchema(variant.schema, root);
  return (
    <div className="flex flex-col gap-3">
      <SelectField
        {...common}
        {...(hint !== undefined && { hint })}
        value={String(chosen)}
        options={[
          ...(isRequired ? [] : [[String(NONE), "Not given"] as const]),
          ...shape.variants.map(({ label: text }, index) => [String(index), visibleText(text)] as const),
        ]}
        onChange={({ target }) => {
          const next = Number(target.value);
          const schema = shape.variants[next]?.schema;
          setChosen(next);
          onChange(schema === undefined ? undefined : initialValue(schema, root));
        }}
      />
      {variant !== undefined && inner !== null && (
        <div key={chosen} className="flex flex-col gap-3 border-l-2 border-line pl-4">
          {inner.kind === "object" ? (
            <Members path={path} value={value} onChange={onChange} shape={inner} />
          ) : (
            <Field
              label={`${label}: ${visibleText(variant.label)}`}
              path={path}
              schema={variant.schema}
              value={value}
              isRequired
              onChange={onChange}
            />
          )}
        </div>
      )}
    </div>
  );
}
