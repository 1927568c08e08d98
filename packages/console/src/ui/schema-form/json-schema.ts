/**
 * As much of JSON Schema as a form needs: what a schema asks for, with its references and parts put together. What is not
 * understood is asked for as JSON, and whether it fits is the server's word.
 */

export type Schema = Readonly<Record<string, unknown>>;

export type Kind =
  | "object"
  | "list"
  | "text"
  | "number"
  | "integer"
  | "boolean"
  | "null"
  | "values"
  | "variants"
  | "json";

export type Field = { name: string; schema: Schema; isRequired: boolean };
export type Variant = { label: string; schema: Schema };

/** What to ask for where a schema stands. */
export type Shape = {
  kind: Kind;
  /** Without references, and of one type. */
  schema: Schema;
  /** Null fits too. */
  isNullable: boolean;
  fields: readonly Field[];
  variants: readonly Variant[];
  values: readonly unknown[];
};

/** Whatever it is. */
export const ANYTHING: Schema = {};

/** More references or choices inside each other than these are a circle. */
const MAX_HOPS = 16;
/** Parts that are made of each other come to more without end. */
const MAX_PARTS = 64;

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** `true` asks for nothing, `false` for what cannot be. */
export const toSchema = (value: unknown): Schema =>
  isObject(value) ? value : value === false ? { not: {} } : {};

/** A member of an object of a user: names such as `constructor` are theirs too. */
export const memberOf = (object: unknown, name: string): unknown =>
  isObject(object) && Object.hasOwn(object, name) ? object[name] : undefined;

export const listOf = (schema: Schema, keyword: string): readonly unknown[] => {
  const value = memberOf(schema, keyword);
  return Array.isArray(value) ? (value as unknown[]) : [];
};

export const textOf = (schema: Schema, keyword: string): string | null => {
  const value = memberOf(schema, keyword);
  return typeof value === "string" ? value : null;
};

export const numberOf = (schema: Schema, keyword: string): number | null => {
  const value = memberOf(schema, keyword);
  return typeof value === "number" ? value : null;
};

/** What `$ref` names inside of the root, with what stands beside it. A reference that leads nowhere asks for nothing. */
export function followReference(schema: Schema, root: Schema, hops = 0): Schema {
  const reference = textOf(schema, "$ref");
  if (reference === null || hops > MAX_HOPS) return schema;
  const { $ref: _, ...beside } = schema;
  if (!reference.startsWith("#")) return beside;
  let target: unknown = root;
  for (const part of decodePointer(reference.slice(1)))
    target = Array.isArray(target) ? (target as unknown[])[Number(part)] : memberOf(target, part);
  return followReference({ ...toSchema(target ?? {}), ...beside }, root, hops + 1);
}

function decodePointer(pointer: string): string[] {
  let text = pointer;
  try {
    text = decodeURIComponent(pointer);
  } catch (error) {
    // A lone percent sign stands for itself.
    if (!(error instanceof URIError)) throw error;
  }
  return text
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The schema without references, its `allOf` put together with it. */
export function resolveSchema(schema: Schema, root: Schema): Schema {
  return partsOf(schema, root, []).reduce((merged, part) => mergeSchemas(part, merged));
}

/** The schema itself and all that its `allOf` comes to, added to what was found before. */
function partsOf(schema: Schema, root: Schema, found: Schema[]): Schema[] {
  const followed = followReference(schema, root);
  const { allOf: _, ...own } = followed;
  found.push(own);
  for (const part of listOf(followed, "allOf"))
    if (found.length < MAX_PARTS) partsOf(toSchema(part), root, found);
  return found;
}

/** Both at once, where they are of properties; else the second one's word. */
const mergeSchemas = (one: Schema, other: Schema): Schema => ({
  ...one,
  ...other,
  ...((isObject(one["properties"]) || isObject(other["properties"])) && {
    properties: { ...toSchema(one["properties"]), ...toSchema(other["properties"]) },
  }),
  ...((listOf(one, "required").length > 0 || listOf(other, "required").length > 0) && {
    required: [...listOf(one, "required"), ...listOf(other, "required")],
  }),
});

const LABELS: Readonly<Record<string, string>> = { array: "list", string: "text" };

export function describeSchema(schema: Schema, root: Schema, hops = 0): Shape {
  const resolved = resolveSchema(schema, root);
  const shape = (kind: Kind, more: Partial<Shape> = {}): Shape => ({
    ...{ kind, schema: resolved, isNullable: false, fields: [], variants: [], values: [] },
    ...more,
  });
  if (hops > MAX_HOPS) return shape("json");
  if (Object.hasOwn(resolved, "const")) return shape("values", { values: [resolved["const"]] });
  const values = listOf(resolved, "enum");
  if (values.length > 0) {
    const others = values.filter((value) => value !== null);
    return shape(others.length === 0 ? "null" : "values", {
      values: others,
      isNullable: others.length < values.length,
    });
  }
  for (const keyword of ["oneOf", "anyOf"]) {
    const parts = listOf(resolved, keyword);
    if (parts.length === 0) continue;
    const { [keyword]: _, ...base } = resolved;
    const variants = parts.map((part) => resolveSchema(toSchema(part), root));
    return describeVariants(
      base,
      variants.map((part) => ({ label: labelOf(part), schema: mergeSchemas(base, part) })),
      root,
      hops,
    );
  }
  const types = listOf(resolved, "type").filter((type) => typeof type === "string");
  if (types.length > 0)
    return describeVariants(
      resolved,
      types.map((type) => ({ label: LABELS[type] ?? type, schema: { ...resolved, type } })),
      root,
      hops,
    );
  const kind = kindOf(resolved);
  return kind === "object" ? shape("object", { fields: fieldsOf(resolved) }) : shape(kind);
}

const isOfNull = ({ schema }: Variant): boolean =>
  schema["type"] === "null" || (Object.hasOwn(schema, "const") && schema["const"] === null);

/** Null is no choice of its own beside others, and a choice of one is none. Constants are values to choose from. */
function describeVariants(base: Schema, all: readonly Variant[], root: Schema, hops: number): Shape {
  const variants = all.filter((variant) => !isOfNull(variant));
  const [first] = variants;
  const isNullable = variants.length < all.length;
  const own = { schema: base, isNullable, fields: [], variants: [], values: [] };
  if (first === undefined) return { ...own, kind: "null" };
  if (variants.length === 1) {
    const only = describeSchema(first.schema, root, hops + 1);
    return { ...only, isNullable: isNullable || only.isNullable };
  }
  if (variants.every(({ schema }) => Object.hasOwn(schema, "const")))
    return { ...own, kind: "values", values: variants.map(({ schema }) => schema["const"]) };
  return { ...own, kind: "variants", variants };
}

function labelOf(schema: Schema): string {
  const title = textOf(schema, "title");
  if (title !== null) return title;
  if (Object.hasOwn(schema, "const")) return JSON.stringify(schema["const"]) ?? "";
  // Objects of a union are told apart by their constants.
  for (const [name, value] of Object.entries(toSchema(schema["properties"]))) {
    const property = toSchema(value);
    const [only, ...more] = listOf(property, "enum");
    if (Object.hasOwn(property, "const")) return `${name}: ${String(property["const"])}`;
    if (only !== undefined && more.length === 0) return `${name}: ${JSON.stringify(only)}`;
  }
  const kind = kindOf(schema);
  const names = Object.keys(toSchema(schema["properties"]));
  return kind === "object" && names.length > 0 ? `object with ${names.join(", ")}` : kind;
}

function kindOf(schema: Schema): Kind {
  const type = schema["type"];
  const has = (...keywords: string[]): boolean => keywords.some((keyword) => Object.hasOwn(schema, keyword));
  if (type === "object" || (type === undefined && has("properties"))) {
    const isFree = Object.keys(toSchema(schema["properties"])).length === 0;
    return isFree && schema["additionalProperties"] !== false ? "json" : "object";
  }
  if (type === "array" || (type === undefined && has("items"))) return has("prefixItems") ? "json" : "list";
  if (type === "string" || (type === undefined && has("minLength", "maxLength", "pattern", "format")))
    return "text";
  if (type === "number" || type === "integer" || type === "boolean" || type === "null") return type;
  return type === undefined && has("minimum", "maximum", "multipleOf") ? "number" : "json";
}

function fieldsOf(schema: Schema): Field[] {
  const required = listOf(schema, "required");
  return Object.entries(toSchema(schema["properties"])).map(([name, value]) => ({
    name,
    schema: toSchema(value),
    isRequired: required.includes(name),
  }));
}
