import type { StandardJSONSchemaV1, StandardSchemaV1, StandardTypedV1 } from "@standard-schema/spec";
import { DataInvalidError } from "./data-invalid-error.ts";
import type { JsonInput } from "./json-type.ts";
import { UsageError } from "./keelson-error.ts";

/** A plain JSON Schema (draft 2020-12), as an object. TypeBox values are such objects. */
export type JsonSchema = { readonly "~standard"?: never; readonly [keyword: string]: unknown };

/**
 * The schema of a task's payload: a Standard Schema of any library (zod, valibot, arktype, …) or a plain JSON Schema.
 */
export type PayloadSchema = StandardTypedV1 | JsonSchema;

/** The type that callers send for a declared schema. */
export type SentBy<S extends StandardTypedV1> = JsonInput<StandardTypedV1.InferInput<S>>;

/** One place where a payload does not fit. */
export type PayloadIssue = { path: string; message: string };

export type PayloadResult = { value: unknown } | { issues: PayloadIssue[] };

type StandardProps = Partial<StandardSchemaV1.Props & StandardJSONSchemaV1.Props>;

function standardProps(schema: PayloadSchema): StandardProps | null {
  const props: unknown = (schema as Partial<StandardTypedV1>)["~standard"];
  return typeof props === "object" && props !== null ? props : null;
}

type ZodPlace = { zodSchema: { _zod?: { def?: { coerce?: unknown } } }; jsonSchema: { type?: unknown } };

/** Zod gives what it coerces the type that it coerces to, although callers may send other types: they are told of none. */
const ZOD_OPTIONS = {
  override: ({ zodSchema, jsonSchema }: ZodPlace): void => {
    if (zodSchema._zod?.def?.coerce === true) delete jsonSchema.type;
  },
};

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
    const libraryOptions = props.vendor === "zod" ? ZOD_OPTIONS : undefined;
    return props.jsonSchema.input({ target: "draft-2020-12", ...(libraryOptions && { libraryOptions }) });
  } catch {
    return null;
  }
}

const pathText = (path: StandardSchemaV1.Issue["path"]): string =>
  (path ?? []).map((part) => String(typeof part === "object" ? part.key : part)).join(".");

type Result = StandardSchemaV1.Result<unknown>;

const toResult = (result: Result): PayloadResult =>
  result.issues === undefined
    ? { value: result.value }
    : { issues: result.issues.map((issue) => ({ path: pathText(issue.path), message: issue.message })) };

/** Checks a payload by the library's own validation; a plain JSON Schema was checked by the server at the start. */
export async function checkPayload(schema: PayloadSchema, payload: unknown): Promise<PayloadResult> {
  const validate = standardProps(schema)?.validate;
  if (validate === undefined) return { value: payload };
  const result = await validate(payload);
  // A start without a payload arrives as null; a schema that takes undefined means exactly that start.
  const absent = result.issues !== undefined && payload === null ? await validate(undefined) : result;
  return toResult(absent.issues === undefined ? absent : result);
}

/**
 * What a schema makes of data. Throws a DataInvalidError that begins with `what` for data that does not fit, and a UsageError for
 * a schema that answers later: a durable call is made at once.
 */
export function checkData(schema: StandardTypedV1 | null | undefined, data: unknown, what: string): unknown {
  const validate = schema ? standardProps(schema)?.validate : undefined;
  if (validate === undefined) return data;
  const now = (value: unknown): Result => {
    const result = validate(value);
    if (result instanceof Promise)
      throw new UsageError(`${what} has a schema with an asynchronous check; use one that is synchronous`);
    return result;
  };
  const result = now(data);
  const absent = result.issues !== undefined && data === null ? now(undefined) : result;
  const checked = toResult(absent.issues === undefined ? absent : result);
  if ("issues" in checked) throw new DataInvalidError(what, data, checked.issues);
  return checked.value;
}
