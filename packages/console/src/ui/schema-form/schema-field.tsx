import { useMemo, type ReactNode } from "react";
import { CheckField } from "../field.tsx";
import { visibleText } from "../visible-text.ts";
import { GroupField } from "./group-field.tsx";
import { hintOf } from "./hint-of.ts";
import { initialValue } from "./initial-value.ts";
import { describeSchema } from "./json-schema.ts";
import { ListField } from "./list-field.tsx";
import { JsonField, NumberField, TextValueField, YesNoField } from "./plain-fields.tsx";
import { useFormState, type FieldProps, type ShapeProps } from "./form-state.ts";
import { ValuesField } from "./values-field.tsx";
import { VariantsField } from "./variants-field.tsx";

/** The field, or the fields, of whatever a schema asks for. */
export function SchemaField({ schema, ...props }: FieldProps): ReactNode {
  const { root, isTitled } = useFormState();
  const shape = useMemo(() => describeSchema(schema, root), [schema, root]);
  const hint = useMemo(() => {
    const text = hintOf(shape.schema, isTitled);
    return text === null ? null : visibleText(text);
  }, [shape, isTitled]);
  const given = { ...props, shape, hint };
  if (!shape.isNullable || shape.kind === "null") return <ShapeField {...given} />;
  const isNull = props.value === null;
  const toggle = (
    <CheckField
      label={`${props.label} is null`}
      checked={isNull}
      onChange={({ target }) =>
        props.onChange(target.checked ? null : initialValue(shape.schema, root, props.isRequired))
      }
    />
  );
  return (
    <div className="flex flex-col gap-1">
      {!isNull && <ShapeField {...given} />}
      <div className="text-xs text-quiet">{toggle}</div>
    </div>
  );
}

function ShapeField(props: ShapeProps): ReactNode {
  switch (props.shape.kind) {
    case "object":
      return <GroupField {...props} />;
    case "list":
      return <ListField {...props} />;
    case "variants":
      return <VariantsField {...props} />;
    case "values":
      return <ValuesField {...props} />;
    case "text":
      return <TextValueField {...props} />;
    case "number":
    case "integer":
      return <NumberField {...props} />;
    case "boolean":
      return <YesNoField {...props} />;
    case "null":
      return (
        <p className="text-sm text-quiet">
          {props.label}: <code className="font-mono text-xs">null</code>
        </p>
      );
    case "json":
      return <JsonField {...props} />;
  }
}
