import { Plus, X } from "lucide-react";
import { useState, type ReactNode } from "react";
import { Button, IconButton } from "../button.tsx";
import { useFormState, type ShapeProps } from "./form-state.ts";
import { Group } from "./group-field.tsx";
import { initialValue } from "./initial-value.ts";
import { numberOf, toSchema } from "./json-schema.ts";

/** The items of a list. Without any it is left out where that is allowed. */
export function ListField(props: ShapeProps): ReactNode {
  const { shape, path, label, value, onChange, isRequired, hint } = props;
  const { root, touch, Field } = useFormState();
  const items: readonly unknown[] = Array.isArray(value) ? (value as unknown[]) : [];
  // Fields keep what is typed in them: they stay with their item when one before it is taken out.
  const [keys, setKeys] = useState<readonly number[]>(() => items.map((_, index) => index));
  const schema = toSchema(shape.schema["items"] ?? {});
  const most = numberOf(shape.schema, "maxItems");
  const replace = (next: readonly unknown[]): void => {
    onChange(next.length === 0 && !isRequired ? undefined : next);
    touch(path);
  };
  return (
    <Group {...props}>
      {hint !== null && <p className="text-xs text-quiet">{hint}</p>}
      {items.map((item, index) => (
        <div key={keys[index] ?? index} className="flex items-start gap-2">
          <div className="min-w-0 flex-1">
            <Field
              label={`${label} ${index + 1}`}
              path={`${path}.${index}`}
              schema={schema}
              value={item}
              isRequired
              onChange={(next) => onChange(items.with(index, next ?? null))}
            />
          </div>
          <IconButton
            label={`Remove ${label} ${index + 1}`}
            onClick={() => {
              setKeys(keys.toSpliced(index, 1));
              replace(items.toSpliced(index, 1));
            }}
          >
            <X size={15} aria-hidden />
          </IconButton>
        </div>
      ))}
      <div>
        <Button
          icon={<Plus size={14} aria-hidden />}
          disabled={most !== null && items.length >= most}
          onClick={() => {
            setKeys([...keys, Math.max(-1, ...keys) + 1]);
            replace([...items, initialValue(schema, root) ?? null]);
          }}
        >
          Add to {label}
        </Button>
      </div>
    </Group>
  );
}
