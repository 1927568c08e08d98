import type { ReactNode } from "react";
import { SelectField } from "../field.tsx";
import { visibleText } from "../visible-text.ts";
import type { ShapeProps } from "./form-state.ts";
import { useCommon } from "./plain-fields.tsx";

const shown = (value: unknown): string =>
  visibleText(typeof value === "string" ? value : (JSON.stringify(value) ?? ""));

/** One of some values, which may be anything. */
export function ValuesField(props: ShapeProps): ReactNode {
  const {
    shape: { values },
    value,
    onChange,
    isRequired,
  } = props;
  const common = useCommon(props);
  const text = JSON.stringify(value);
  const at = values.findIndex((one) => JSON.stringify(one) === text);
  return (
    <SelectField
      {...common}
      value={String(at)}
      options={[
        ...(at === -1 || !isRequired ? [["-1", isRequired ? "Choose …" : "Not given"] as const] : []),
        ...values.map((one, index) => [String(index), shown(one)] as const),
      ]}
      onChange={({ target }) => onChange(target.value === "-1" ? undefined : values[Number(target.value)])}
    />
  );
}
