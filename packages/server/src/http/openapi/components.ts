/** A JSON Schema as plain data. */
export type JsonSchema = { [keyword: string]: unknown };

/**
 * Schemas of the document. A schema with an `$id` is written once under `components.schemas` and referred to by it
 * everywhere; the others stand where they are used.
 */
export type Components = {
  /** The schema as it is written into the document. */
  refer(schema: object): JsonSchema;
  schemas(): Record<string, JsonSchema>;
};

/** Keywords whose values are data and no schemas. */
const LITERAL_KEYWORDS = new Set(["enum", "const", "examples"]);

export function createComponents(): Components {
  const schemas = new Map<string, { text: string; schema: JsonSchema }>();

  const convert = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(convert);
    if (typeof value !== "object" || value === null) return value;
    const { $id, ...rest } = value as JsonSchema;
    const plain = Object.fromEntries(
      Object.entries(tidy(rest)).map(([key, item]) => [
        key,
        LITERAL_KEYWORDS.has(key) ? item : convert(item),
      ]),
    );
    if (typeof $id !== "string") return plain;
    const text = JSON.stringify(plain);
    const known = schemas.get($id);
    if (known !== undefined && known.text !== text)
      throw new Error(`Two different schemas have the $id ${$id}.`);
    schemas.set($id, { text, schema: plain });
    return { $ref: `#/components/schemas/${$id}` };
  };

  return {
    // Through JSON: TypeBox keeps more than keywords on its objects.
    refer: (schema) => convert(JSON.parse(JSON.stringify(schema))) as JsonSchema,
    schemas: () =>
      Object.fromEntries(
        [...schemas].sort(([a], [b]) => (a < b ? -1 : 1)).map(([id, { schema }]) => [id, schema]),
      ),
  };
}

/** `patternProperties` of every key is what readers know as `additionalProperties`. */
function tidy(schema: JsonSchema): JsonSchema {
  const patterns = schema["patternProperties"] as Record<string, unknown> | undefined;
  if (patterns === undefined || Object.keys(patterns).join() !== "^.*$") return schema;
  const { patternProperties: _, ...rest } = schema;
  return { ...rest, additionalProperties: patterns["^.*$"] };
}
