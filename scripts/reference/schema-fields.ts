import { code, table } from "./markdown.ts";

/** A JSON Schema, as far as the reference looks into it. */
export type Schema = {
  $id?: string;
  type?: string;
  const?: unknown;
  enum?: unknown[];
  items?: Schema;
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  description?: string;
  examples?: unknown[];
};

export function typeOf(schema: Schema): string {
  if (schema.$id !== undefined) return code(schema.$id);
  if (schema.const !== undefined) return code(JSON.stringify(schema.const));
  if (schema.enum !== undefined) return schema.enum.map((word) => code(String(word))).join(", ");
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(" or ");
  if (schema.type === "array") return `list of ${typeOf(schema.items ?? {})}`;
  return schema.type ?? "any JSON";
}

function meaningOf({ anyOf = [], description }: Schema): string {
  return description ?? anyOf.find((branch) => branch.description !== undefined)?.description ?? "";
}

/** The fields of an object, also of the objects right inside it, as a table. */
export function fieldTable({ properties = {}, required = [] }: Schema, head = "field"): string {
  const rows = (fields: Record<string, Schema>, needed: readonly string[], above: string): string[][] =>
    Object.entries(fields).flatMap(([name, schema]) => [
      [code(`${above}${name}${needed.includes(name) ? "" : "?"}`), typeOf(schema), meaningOf(schema)],
      ...(schema.$id === undefined && schema.properties !== undefined && above === ""
        ? rows(schema.properties, schema.required ?? [], `${name}.`)
        : []),
    ]);
  return table([[head, "type", "meaning"], ...rows(properties, required, "")]);
}
