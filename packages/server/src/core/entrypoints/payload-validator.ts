import { Ajv, type ErrorObject, type Options, type ValidateFunction } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormatsModule from "ajv-formats";
import type { ErrorIssue } from "@keelson/contract";
import { DomainError } from "../../domain-error.ts";
import { callBounded, StarvedError, type BoundedResult } from "./bounded-call.ts";
import {
  CHECK_CPU_MS,
  COMPILE_CPU_MS,
  MAX_PATTERN_CHARACTERS,
  MAX_SCHEMA_BYTES,
  needsWatch,
  patternsOf,
  schemaCost,
} from "./schema-cost.ts";

// The package's types describe a default export, its CommonJS module is the function itself.
const addFormats = addFormatsModule as unknown as typeof addFormatsModule.default;

/** What is wrong with a payload, empty when nothing is. Paths begin with `payload`. */
export type PayloadValidator = (payload: unknown) => ErrorIssue[];

/**
 * `inlineRefs: false` because inlining writes a referenced schema once a reference: a few kilobytes of schema would become
 * megabytes of code. The schema is not logged, and references are only resolved inside it.
 */
const OPTIONS: Options = {
  strict: false,
  validateFormats: true,
  allErrors: false,
  inlineRefs: false,
  logger: false,
};

/** The dialect that `$schema` names; without it, or with an unknown name, 2020-12. Ajv refuses the unknown name itself. */
function createAjv(schema: Record<string, unknown>): Ajv {
  const dialect = typeof schema["$schema"] === "string" ? schema["$schema"] : "";
  if (/draft-0[67]/.test(dialect)) return new Ajv(OPTIONS);
  return dialect.includes("2019-09") ? new Ajv2019(OPTIONS) : new Ajv2020(OPTIONS);
}

/** A compiler of its own each time: schemas of different authors may have the same `$id`. */
function compile(schema: Record<string, unknown>): ValidateFunction {
  const ajv = createAjv(schema);
  addFormats(ajv);
  return ajv.compile(schema);
}

/** Why a schema cannot be used, as issues under the path; empty when it can. */
export function payloadSchemaIssues(schema: Record<string, unknown>, path: string): ErrorIssue[] {
  if (Buffer.byteLength(JSON.stringify(schema)) > MAX_SCHEMA_BYTES) {
    return [{ path, message: `is over ${MAX_SCHEMA_BYTES} bytes; make the schema smaller` }];
  }
  const long = patternsOf(schema).find(({ pattern }) => pattern.length > MAX_PATTERN_CHARACTERS);
  if (long !== undefined) {
    return [
      {
        path: `${path}.${long.path}`,
        message: `is over ${MAX_PATTERN_CHARACTERS} characters; use a shorter pattern`,
      },
    ];
  }
  // An asynchronous validator answers with a promise, which would pass for true.
  if ("$async" in schema)
    return [{ path: `${path}.$async`, message: "remove it; payloads are checked synchronously" }];
  try {
    const compiled = bound(COMPILE_CPU_MS, () => compile(schema));
    return compiled.done
      ? []
      : [
          {
            path,
            message: `does not compile within ${COMPILE_CPU_MS} ms of processor time; make the schema simpler`,
          },
        ];
  } catch (error) {
    if (error instanceof DomainError) throw error;
    // Whatever the compiler throws is about the schema: it has no other input.
    return [{ path, message: `is not a usable JSON Schema: ${(error as Error).message}` }];
  }
}

/** A validator of a schema that was accepted at creation; it is compiled at the first payload. */
export function createPayloadValidator(schema: Record<string, unknown>): PayloadValidator {
  const cost = schemaCost(schema);
  let compiled: ValidateFunction | undefined;
  return (payload) => {
    // Compiling was timed at creation; it is not part of what a payload may cost.
    const validate = (compiled ??= compile(schema));
    const check = (): boolean => validate(payload);
    const outcome = needsWatch(cost, payload) ? checkWatched(check) : check();
    if (outcome === true) return [];
    if (outcome === null) {
      return [
        {
          path: "payload",
          message: `cannot be checked within ${CHECK_CPU_MS} ms of processor time; send less, or simplify the declared schema`,
        },
      ];
    }
    return (validate.errors ?? []).slice(0, 1).map(toPayloadIssue);
  };
}

/** What a busy machine did not let end is no finding about the caller's input. */
function bound<Result>(cpuMs: number, work: () => Result): BoundedResult<Result> {
  try {
    return callBounded(cpuMs, work);
  } catch (error) {
    if (!(error instanceof StarvedError)) throw error;
    throw new DomainError(
      "unavailable",
      "The server is too busy to check this right now, and nothing was written. Try again.",
      null,
      { cause: error },
    );
  }
}

/** Null when it took too long. A schema that recurses without end overflows the stack instead; that is the same. */
function checkWatched(check: () => boolean): boolean | null {
  try {
    const outcome = bound(CHECK_CPU_MS, check);
    return outcome.done ? outcome.value : null;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Ajv's JSON Pointer as a dotted path, and its finding in words that say what to do. */
function toPayloadIssue(error: ErrorObject): ErrorIssue {
  const segments = error.instancePath.split("/").slice(1);
  const base = ["payload", ...segments.map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))];
  const at = (...extra: string[]): string => [...base, ...extra].join(".");
  const params = error.params as Record<string, unknown>;
  switch (error.keyword) {
    case "required":
      return { path: at(String(params["missingProperty"])), message: "is required; add it" };
    case "additionalProperties":
      return {
        path: at(String(params["additionalProperty"])),
        message: "is not in the declared schema; remove it",
      };
    case "unevaluatedProperties":
      return {
        path: at(String(params["unevaluatedProperty"])),
        message: "is not in the declared schema; remove it",
      };
    case "type":
      return { path: at(), message: `must be ${[params["type"]].flat().join(" or ")}` };
    case "enum":
      return {
        path: at(),
        message: `must be one of ${(params["allowedValues"] as unknown[]).map((value) => JSON.stringify(value)).join(", ")}`,
      };
    case "const":
      return { path: at(), message: `must be ${JSON.stringify(params["allowedValue"])}` };
    case "format":
      return { path: at(), message: `must be a valid ${String(params["format"])}` };
    default:
      return { path: at(), message: error.message ?? "does not fit the declared schema" };
  }
}
