import { useMemo, useState } from "react";
import { checkValue, type Issue } from "./check-value.ts";
import { initialValue } from "./initial-value.ts";
import { describeSchema, type Schema } from "./json-schema.ts";

/** What a form asks for, or a part of it, while it is written: as fields, or as JSON. Both write the same value. */
export type Draft = {
  name: string;
  schema: Schema;
  value: unknown;
  setValue: (value: unknown) => void;
  isJson: boolean;
  setIsJson: (isJson: boolean) => void;
  issues: readonly Issue[];
};

/** `initial` is what there is already; absent, the draft begins as the schema says. */
export function useDraft(name: string, schema: Schema, initial?: unknown): Draft {
  const [value, setValue] = useState<unknown>(() => initial ?? initialValue(schema, schema));
  const [isJson, setIsJson] = useState(() => describeSchema(schema, schema).kind === "json");
  const issues = useMemo(() => checkValue(schema, value, schema, name), [schema, value, name]);
  return { name, schema, value, setValue, isJson, setIsJson, issues };
}
