import { describeSchema, listOf, numberOf, type Schema } from "./json-schema.ts";

/** A schema that needs itself has no smallest value. */
const MAX_DEPTH = 8;
/** A list may have to be long; nobody fills in more than these. */
const MAX_ITEMS = 20;
/** A schema that needs itself several times has a smallest value that is too large to make. */
const MAX_VALUES = 1000;

/** What a value begins as: the author's default or example, else the least that may fit. Undefined is to be left out. */
export const initialValue = (schema: Schema, root: Schema, isRequired = true): unknown =>
  begin(schema, isRequired, { root, made: 0 }, 0);

type Beginning = { readonly root: Schema; made: number };

function begin(schema: Schema, isRequired: boolean, all: Beginning, depth: number): unknown {
  const { root } = all;
  all.made += 1;
  const shape = describeSchema(schema, root);
  for (const given of [schema, shape.schema])
    if (Object.hasOwn(given, "default")) return structuredClone(given["default"]);
  if (!isRequired || depth > MAX_DEPTH || all.made > MAX_VALUES) return undefined;
  for (const given of [schema, shape.schema]) {
    const [example] = listOf(given, "examples");
    if (example !== undefined) return structuredClone(example);
  }
  const inner = (part: Schema, isNeeded = true): unknown => begin(part, isNeeded, all, depth + 1);
  switch (shape.kind) {
    case "object":
      return fromMembers(
        shape.fields.map(({ name, schema: part, isRequired: isNeeded }) => [name, inner(part, isNeeded)]),
      );
    case "list": {
      const count = Math.min(numberOf(shape.schema, "minItems") ?? 0, MAX_ITEMS);
      const items = shape.schema["items"];
      return Array.from({ length: count }, () => inner((items ?? {}) as Schema) ?? null);
    }
    case "variants":
      return shape.variants[0] === undefined ? undefined : inner(shape.variants[0].schema);
    case "values":
      return shape.values.length === 1 ? shape.values[0] : undefined;
    case "boolean":
      return false;
    case "null":
      return null;
    case "json":
      return shape.schema["type"] === "object" ? {} : undefined;
    case "text":
    case "number":
    case "integer":
      return undefined;
  }
}

/** An object of these members, without those that are left out. Any name is a name, `__proto__` too. */
export const fromMembers = (members: readonly (readonly [string, unknown])[]): Record<string, unknown> =>
  Object.fromEntries(members.filter(([, value]) => value !== undefined));

/** The object with the member replaced, or without it when `value` is undefined. Their order stays. */
export function withMember(object: unknown, name: string, value: unknown): Record<string, unknown> {
  const members = Object.entries(object as Record<string, unknown>);
  const at = members.findIndex(([existing]) => existing === name);
  if (at === -1) members.push([name, value]);
  else members[at] = [name, value];
  return fromMembers(members);
}
