import * as contract from "@keelson/contract";

/** JSON Schema as TypeBox keeps it: nested schemas are the same objects as where they were declared. */
type Schema = {
  [keyword: string]: unknown;
  type?: string;
  const?: unknown;
  enum?: readonly unknown[];
  anyOf?: readonly Schema[];
  items?: Schema;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  patternProperties?: Readonly<Record<string, Schema>>;
};

/** Only objects: a string such as `Timestamp` is told as what it is. */
const NAMES: ReadonlyMap<unknown, string> = new Map(
  Object.entries(contract)
    .filter(([, value]) => isComposed(value))
    .map(([name, value]) => [value, name]),
);

function isComposed(value: unknown): boolean {
  return typeof value === "object" && value !== null && ("properties" in value || "$id" in value);
}

/** TypeScript of what fits a schema. A schema of the contract is told by its name, which is added to `imports`. */
export function typeText(schema: object, imports: Set<string>): string {
  const name = NAMES.get(schema);
  if (name !== undefined) {
    imports.add(name);
    return name;
  }
  const { anyOf, enum: words, const: literal, type, items, properties, ...rest } = schema as Schema;
  const text = (inner: object): string => typeText(inner, imports);
  if (anyOf !== undefined) return anyOf.map(text).join(" | ");
  if (words !== undefined) return words.map((word) => JSON.stringify(word)).join(" | ");
  if (literal !== undefined) return JSON.stringify(literal);
  if (items !== undefined) return `(${text(items)})[]`.replace(/^\((\w+)\)/, "$1");
  if (properties !== undefined) return objectText(properties, rest.required ?? [], text);
  switch (type) {
    case "string":
    case "boolean":
    case "null":
      return type;
    case "integer":
    case "number":
      return "number";
    case "object":
      return recordText(rest.patternProperties, text);
    case undefined:
      return "unknown";
    default:
      throw new Error(`There is no type for a schema of type ${type}.`);
  }
}

function objectText(
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[],
  text: (schema: object) => string,
): string {
  const fields = Object.entries(properties).map(
    ([name, schema]) => `${name}${required.includes(name) ? "" : "?"}: ${text(schema)}`,
  );
  return fields.length === 0 ? "object" : `{ ${fields.join("; ")} }`;
}

function recordText(
  patterns: Readonly<Record<string, Schema>> | undefined,
  text: (schema: object) => string,
): string {
  const [value] = Object.values(patterns ?? {});
  return value === undefined ? "object" : `Record<string, ${text(value)}>`;
}
