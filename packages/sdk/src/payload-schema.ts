import type { StandardJSONSchemaV1, StandardSchemaV1, StandardTypedV1 } from "@standard-schema/spec";

/** A plain JSON Schema (draft 2020-12), as an object. TypeBox values are such objects. */
export type JsonSchema = { readonly "~standard"?: never; readonly [keyword: string]: unknown };

/** What `payload` of a task takes: a Standard Schema of any library (zod, valibot, arktype, …) or a plain JSON Schema. */
export type PayloadSchema = StandardTypedV1 | JsonSchema;

/** One place where a payload does not fit. */
export type PayloadIssue = { path: string; message: string };

export type PayloadResult = { value: unknown } | { issues: PayloadIssue[] };

type StandardProps = Partial<StandardSchemaV1.Props & StandardJSONSchemaV1.Props>;

function standardProps(schema: PayloadSchema): StandardProps | null {
  const props: unknown = (schema as Partial<StandardTypedV1>)["~standard"];
  return typeof props === "object" && props !== null ? props : null;
}

/**
 * The JSON Schema that the server checks starts against: what the library offers by Standard JSON Schema, a plain
 * JSON Schema as it is, or null. A library may be unable to express a schema (a transform, a custom check) and
 * throws then; such a payload is checked when the run begins.
 */
export function describePayload(schema: PayloadSchema): Record<string, unknown> | null {
  const props = standardProps(schema);
  if (props === null) return schema as Record<string, unknown>;
  if (props.jsonSchema === undefined) return null;
  try {
    return props.jsonSchema.input({ target: "draft-2020-12" });
  } catch {
    return null;
  }
}

const pathText = (path: StandardSchemaV1.Issue["path"]): string =>
  (path ?? []).map((part) => String(typeof part === "object" ? part.key : part)).join(".");

/** Checks a payload by the library's own validation; a plain JSON Schema was checked by the server at the start. */
export async function checkPayload(schema: PayloadSchema, payload: unknown): Promise<PayloadResult> {
  const validate = standardProps(schema)?.validate;
  if (validate === undefined) return { value: payload };
  const result = await validate(payload);
  if (result.issues === undefined) return { value: result.value };
  // A start without a payload arrives as null; a schema that takes undefined means exactly that start.
  if (payload === null) {
    const absent = await validate(undefined);
    if (absent.issues === undefined) return { value: absent.value };
  }
  return { issues: result.issues.map((issue) => ({ path: pathText(issue.path), message: issue.message })) };
}
