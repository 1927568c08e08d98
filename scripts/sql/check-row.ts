// Compares the columns that a statement returns with the row that its caller declares.

import { camelCase } from "../../packages/server/src/db/camel-case.ts";
import type { Column } from "./describe-statement.ts";
import type { Shape } from "./shape.ts";

type Kind = Shape["kind"];

/** As `db/row-types.ts` reads them. */
const KINDS: Record<string, Kind> = {
  int2: "number",
  int4: "number",
  int8: "number",
  float4: "number",
  float8: "number",
  timestamptz: "number",
  bool: "boolean",
  bytea: "bytes",
  text: "string",
  varchar: "string",
  name: "string",
  uuid: "string",
  json: "string",
  jsonb: "string",
  date: "string",
  timestamp: "string",
  numeric: "string",
};

/** What is wrong, a sentence each; nothing when the row is as declared. */
export function checkRow(row: Shape, columns: readonly Column[]): string[] {
  if (row.kind !== "object") return [`The declared row cannot be read: it is ${nameOf(row)}.`];
  const found: string[] = [];
  const returned = new Map<string, Column>();
  for (const column of columns) {
    const name = camelCase(column.name);
    if (returned.has(name)) found.push(`It returns the column ${name} twice.`);
    returned.set(name, column);
    if (!row.fields.has(name)) found.push(`It returns the column ${name}, which the row does not declare.`);
  }
  for (const [name, { shape, optional }] of row.fields) {
    const column = returned.get(name);
    if (column === undefined) {
      if (!optional) found.push(`It returns no column ${name}, which the row declares.`);
    } else if (!holds(shape, column.typeName))
      found.push(`Its column ${name} is of the type ${column.typeName}; the row declares ${nameOf(shape)}.`);
  }
  return found;
}

/** Whether a declared value may be what the driver makes of this type. NULL is not told: any column may be it in a join. */
function holds(shape: Shape, typeName: string): boolean {
  const isList = typeName.startsWith("_");
  const kind = KINDS[isList ? typeName.slice(1) : typeName];
  switch (shape.kind) {
    case "union":
      return shape.of
        .filter(({ kind: one }) => one !== "null" && one !== "undefined")
        .every((one) => holds(one, typeName));
    case "list":
      return isList && holds(shape.of, typeName.slice(1));
    case "literal":
      return !isList && typeof shape.value === kind;
    case "object":
    case "other":
    case "undefined":
      return false;
    case "null":
      return true;
    default:
      return !isList && shape.kind === kind;
  }
}

function nameOf(shape: Shape): string {
  switch (shape.kind) {
    case "union":
      return shape.of.map(nameOf).join(" | ");
    case "list":
      return `${nameOf(shape.of)}[]`;
    case "literal":
      return JSON.stringify(shape.value);
    case "object":
      return "an object";
    case "other":
      return shape.name;
    default:
      return shape.kind;
  }
}
