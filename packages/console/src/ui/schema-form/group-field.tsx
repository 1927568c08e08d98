import type { ReactNode } from "react";
import { Button } from "../button.tsx";
import { visibleText } from "../visible-text.ts";
import { useFormState, type ShapeProps } from "./form-state.ts";
import { fromMembers, initialValue, withMember } from "./initial-value.ts";
import {
  isObject,
  memberOf,
  resolveSchema,
  textOf,
  type Field as MemberField,
  type Schema,
} from "./json-schema.ts";
import { labelOf } from "./plain-fields.tsx";

/** The members of an object. One that is not needed is added when it is wanted, and can be left out again. */
export function GroupField(props: ShapeProps): ReactNode {
  const { shape, path, value, onChange, isRequired, hint } = props;
  const { root } = useFormState();
  if (!isObject(value))
    return (
      <Group {...props}>
        {hint !== null && <p className="text-xs text-quiet">{hint}</p>}
        <div>
          <Button onClick={() => onChange(initialValue(shape.schema, root) ?? {})}>Add {props.label}</Button>
        </div>
      </Group>
    );
  return (
    <Group {...props}>
      {hint !== null && <p className="text-xs text-quiet">{hint}</p>}
      <Members {...{ path, value, onChange, shape }} />
      {!isRequired && (
        <div>
          <Button kind="bare" onClick={() => onChange(undefined)}>
            Leave {props.label} out
          </Button>
        </div>
      )}
    </Group>
  );
}

/** The fields of an object's members, and what else it holds, which no field is for. */
export function Members({
  path,
  value,
  onChange,
  shape,
}: Pick<ShapeProps, "path" | "onChange" | "shape"> & { value: unknown }): ReactNode {
  const { Field, root, isTitled } = useFormState();
  const object = isObject(value) ? value : {};
  // A constant that is there already is nothing to decide: it came with the choice that it belongs to.
  const isOpen = ({ name, schema, isRequired }: MemberField): boolean =>
    !isRequired || !Object.hasOwn(schema, "const") || memberOf(object, name) !== schema["const"];
  const titleOf = (schema: Schema): string | null =>
    isTitled ? textOf(resolveSchema(schema, root), "title") : null;
  const known = new Set(shape.fields.map(({ name }) => name));
  const others = Object.keys(object).filter((name) => !known.has(name));
  return (
    <>
      {shape.fields.filter(isOpen).map(({ name, schema, isRequired }) => (
        <Field
          key={name}
          label={visibleText(titleOf(schema) ?? name)}
          path={`${path}.${name}`}
          schema={schema}
          value={memberOf(object, name)}
          isRequired={isRequired}
          onChange={(member) => onChange(withMember(object, name, member))}
        />
      ))}
      {shape.fields.length === 0 && others.length === 0 && (
        <p className="text-quiet">This object has no fields.</p>
      )}
      {others.length > 0 && (
        <p className="text-xs text-quiet">
          This object also has {others.map(visibleText).join(", ")}, written as JSON.{" "}
          <Button
            kind="bare"
            onClick={() => onChange(fromMembers(Object.entries(object).filter(([name]) => known.has(name))))}
          >
            Leave that out
          </Button>
        </p>
      )}
    </>
  );
}

/** A frame around fields that belong together. */
export function Group({
  children,
  ...props
}: Pick<ShapeProps, "label" | "path" | "isRequired"> & { children: ReactNode }): ReactNode {
  const issue = useFormState().issueAt(props.path);
  return (
    <fieldset className="flex min-w-0 flex-col gap-3 border-l-2 border-line pl-4">
      <legend className="mb-1 text-sm font-medium">{labelOf(props)}</legend>
      {children}
      {issue !== null && (
        <p role="alert" className="text-xs text-bad">
          {issue}
        </p>
      )}
    </fieldset>
  );
}
