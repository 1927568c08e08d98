import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import addFormatsModule from "ajv-formats";
import type { ErrorIssue } from "@keelson/contract";
import type { TSchema } from "typebox";
import { invalidRequest } from "../domain-error.ts";

// The package's types describe a default export, its CommonJS module is the function itself.
const addFormats = addFormatsModule as unknown as typeof addFormatsModule.default;

const OPTIONS = { removeAdditional: false, useDefaults: false, allErrors: false, strict: false, validateFormats: true } as const;

/** Bodies are taken as they are; text of a query is made the number or list that the schema wants. */
const body = new Ajv2020({ ...OPTIONS, coerceTypes: false, discriminator: true });
const query = new Ajv2020({ ...OPTIONS, coerceTypes: "array" });
for (const ajv of [body, query]) {
  addFormats(ajv, ["date-time"]);
  const { validate } = ajv.formats["date-time"] as { validate: (text: string) => boolean };
  // RFC 3339 has leap seconds, which neither our clock nor the database's has.
  ajv.addFormat("date-time", (text: string) => validate(text) && !Number.isNaN(Date.parse(text)));
}

export type Validator = (value: unknown) => void;

/** Component names are for the document; a schema that holds one component twice would define its id twice. */
function withoutIds(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutIds);
  if (typeof schema !== "object" || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).flatMap(([key, value]) => (key === "$id" && typeof value === "string" ? [] : [[key, withoutIds(value)]])),
  );
}

/** @returns a function that throws DomainError `invalid_request` naming the place and what to do there. */
export const bodyValidator = (schema: TSchema): Validator => throwing(body.compile(withoutIds(schema) as TSchema), "");
export const queryValidator = (schema: TSchema): Validator => throwing(query.compile(withoutIds(schema) as TSchema), "");

function throwing(validate: ValidateFunction, root: string): Validator {
  return (value) => {
    if (!validate(value)) throw invalidRequest((validate.errors ?? []).slice(0, 1).map((error) => toIssue(error, root)));
  };
}

/** Ajv's JSON Pointer as a dotted path, and its finding in words that say what to do. */
export function toIssue(error: ErrorObject, root: string): ErrorIssue {
  const segments = error.instancePath.split("/").slice(1).map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  const base = [root, ...segments].filter((part) => part !== "");
  const at = (...extra: string[]): string => [...base, ...extra].join(".") || "body";
  const params = error.params as Record<string, unknown>;
  switch (error.keyword) {
    case "additionalProperties":
    case "unevaluatedProperties":
      return { path: at(String(params["additionalProperty"] ?? params["unevaluatedProperty"])), message: "remove this field; it is not known here" };
    case "required":
      return { path: at(String(params["missingProperty"])), message: "is required" };
    case "enum":
      return { path: at(), message: `must be one of ${(params["allowedValues"] as unknown[]).join(", ")}` };
    case "const":
      return { path: at(), message: `must be ${JSON.stringify(params["allowedValue"])}` };
    case "format":
      return { path: at(), message: `must be a ${String(params["format"])} (RFC 3339, such as 2026-11-20T09:15:00.123Z)` };
    default:
      return { path: at(), message: error.message ?? "is not valid" };
  }
}
