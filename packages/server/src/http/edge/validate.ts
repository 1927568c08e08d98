import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import addFormatsModule from "ajv-formats";
import type { ErrorIssue } from "@keelson/contract";
import type { TSchema } from "typebox";
import { invalidRequest, type DomainError } from "../../domain-error.ts";
import { wordsOfNames, wordsOfPattern } from "./pattern-words.ts";

// The package's types describe a default export, its CommonJS module is the function itself.
const addFormats = addFormatsModule as unknown as typeof addFormatsModule.default;

const OPTIONS = {
  removeAdditional: false,
  useDefaults: false,
  strict: false,
  validateFormats: true,
  verbose: true,
  // They are ours, and a test says that they are schemas: to read the schema of schemas takes each server 0.1 s.
  validateSchema: false,
  // Optimized code takes four times as long to make, 4 ms more for the first body of each route, and runs as fast.
  code: { optimize: false },
} as const;

/** Bodies are taken as they are; text of a query is made the number or list that the schema wants. */
const body = new Ajv2020({ ...OPTIONS, coerceTypes: false, discriminator: true });
const bodyAllErrors = new Ajv2020({ ...OPTIONS, coerceTypes: false, discriminator: true, allErrors: true });
const query = new Ajv2020({ ...OPTIONS, coerceTypes: "array", allErrors: true });
/** Times that are read back as stored: PostgreSQL writes the year 0 as 1 BC, `Date.UTC` takes 1 to 99 for 1901 to 1999. */
const EARLIEST_MS = Date.parse("0100-01-01T00:00:00.000Z");
const LATEST_MS = Date.parse("9999-12-31T23:59:59.999Z");

for (const ajv of [body, bodyAllErrors, query]) {
  addFormats(ajv, ["date-time"]);
  const { validate } = ajv.formats["date-time"] as { validate: (text: string) => boolean };
  // The operations of a report have few times between them.
  let lastValid = "";
  // RFC 3339 has leap seconds, which neither our clock nor the database's has.
  ajv.addFormat("date-time", (text: string) => {
    if (text === lastValid) return true;
    const ms = validate(text) ? Date.parse(text) : Number.NaN;
    const isValid = ms >= EARLIEST_MS && ms <= LATEST_MS;
    if (isValid) lastValid = text;
    return isValid;
  });
}

/** All errors are collected only of small bodies: of a large one that is nothing but errors they would fill the memory. */
const ALL_ERRORS_BYTES = 64 * 1024;
const MAX_ISSUES = 20;

export type Validator = (value: unknown, sizeBytes?: number) => void;

/** @returns a function that throws DomainError `invalid_request` naming the places and what to do there. */
export function bodyValidator(schema: TSchema): Validator {
  // Compiled at the first call: a start of the server compiles no route that nobody calls.
  let plain: object | undefined;
  let first: ValidateFunction | undefined;
  let all: ValidateFunction | undefined;
  return (value, sizeBytes = 0) => {
    plain ??= withoutIds(schema);
    first ??= body.compile(plain);
    if (first(value)) return;
    if (sizeBytes > ALL_ERRORS_BYTES) throw refusal(first.errors, "field");
    all ??= bodyAllErrors.compile(plain);
    all(value);
    throw refusal(all.errors ?? first.errors, "field");
  };
}

/** `$id` names components of the OpenAPI document; to Ajv the same id in two places is a clash. */
const withoutIds = (schema: TSchema): object =>
  JSON.parse(JSON.stringify(schema), (key, value: unknown) => (key === "$id" ? undefined : value)) as object;

/** Numbers of a query as people write them: `1e2`, `+5`, `0x10` and `05` would be read as numbers, too. */
const DECIMAL = /^(0|-?[1-9][0-9]*)$/;

export function queryValidator(schema: TSchema): Validator {
  let validate: ValidateFunction | undefined;
  const { properties = {} } = schema as { properties?: Record<string, { type?: string }> };
  const integers = Object.keys(properties).filter((name) => properties[name]?.type === "integer");
  return (value) => {
    const fields = value as Record<string, unknown>;
    const wrong = integers.filter((name) => name in fields && !DECIMAL.test(String(fields[name])));
    if (wrong.length > 0)
      throw invalidRequest(wrong.map((path) => ({ path, message: "must be an integer in decimal digits" })));
    validate ??= query.compile(withoutIds(schema));
    if (!validate(value)) throw refusal(validate.errors, "query parameter");
  };
}

const refusal = (errors: readonly ErrorObject[] | null | undefined, noun: string): DomainError =>
  invalidRequest(toIssues(errors ?? [], noun));

/** What to tell of the errors of one value: each place once, and of a union only the branch that was meant. */
export function toIssues(errors: readonly ErrorObject[], noun: string): ErrorIssue[] {
  const issues = new Map<string, ErrorIssue>();
  const empty = new Set(
    errors.filter(({ keyword }) => keyword === "minLength").map((error) => error.instancePath),
  );
  for (const error of keepLikelyBranches(errors)) {
    // A text that is too short is told only that.
    if (error.keyword === "pattern" && empty.has(error.instancePath)) continue;
    const issue = toIssue(error, noun);
    issues.set(`${issue.path}\n${issue.message}`, issue);
  }
  return [...issues.values()].slice(0, MAX_ISSUES);
}

/**
 * A value that fits no branch of a union has errors of every branch. Kept are those of the branch that it was most likely
 * meant for: one whose constant and type fit, and of these the one with the fewest errors.
 */
function keepLikelyBranches(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  let kept: readonly ErrorObject[] = errors;
  // Ajv reports inner unions before outer ones.
  for (const union of errors.filter(({ keyword }) => keyword === "anyOf")) {
    const prefix = `${union.schemaPath}/`;
    const branches = Map.groupBy(
      kept.filter(
        ({ schemaPath, instancePath }) =>
          schemaPath.startsWith(prefix) && instancePath.startsWith(union.instancePath),
      ),
      ({ schemaPath }) => schemaPath.slice(prefix.length).split("/", 1)[0],
    );
    const [best, ...others] = [...branches.values()].sort((a, b) => mismatch(a, union) - mismatch(b, union));
    if (best === undefined) continue;
    const tag = unknownTag([best, ...others]);
    const dropped = new Set<ErrorObject>([union, ...others.flat(), ...(tag === null ? [] : best)]);
    kept = [...kept.filter((error) => !dropped.has(error)), ...(tag === null ? [] : [tag])];
  }
  return kept;
}

const valuesOf = ({ keyword, params }: ErrorObject): unknown[] =>
  keyword === "const"
    ? [(params as { allowedValue: unknown }).allowedValue]
    : (params as { allowedValues: unknown[] }).allowedValues;

/** A value that no branch allows in the place that tells them apart is meant for none: what can be told is what all of them allow there. */
function unknownTag(branches: readonly (readonly ErrorObject[])[]): ErrorObject | null {
  const tags = branches.map((branch) =>
    branch.find(({ keyword }) => keyword === "const" || keyword === "enum"),
  );
  const [first] = tags;
  if (first === undefined || tags.some((tag) => tag?.instancePath !== first.instancePath)) return null;
  const allowedValues = tags.flatMap((tag) => valuesOf(tag as ErrorObject));
  return { ...first, keyword: "enum", params: { allowedValues } };
}

function mismatch(branch: readonly ErrorObject[], union: ErrorObject): number {
  const isAnother = branch.some(
    ({ keyword, instancePath }) =>
      keyword === "const" || (keyword === "type" && instancePath === union.instancePath),
  );
  return (isAnother ? 1_000 : 0) + branch.length;
}

/** Ajv's JSON Pointer as a dotted path, and its finding in words that say what to do. */
function toIssue(error: ErrorObject, noun: string): ErrorIssue {
  const segments = error.instancePath
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  const at = (...extra: string[]): string => [...segments, ...extra].join(".") || "body";
  const params = error.params as Record<string, unknown>;
  switch (error.keyword) {
    case "additionalProperties":
    case "unevaluatedProperties": {
      const words = wordsOfNames(error.parentSchema);
      return {
        path: at(String(params["additionalProperty"] ?? params["unevaluatedProperty"])),
        message:
          words === null ? `is not a known ${noun}; remove it` : `has another name than it may; it ${words}`,
      };
    }
    case "required":
      return { path: at(String(params["missingProperty"])), message: "is required" };
    case "enum":
      return { path: at(), message: `must be one of ${(params["allowedValues"] as unknown[]).join(", ")}` };
    case "const":
      return { path: at(), message: `must be ${JSON.stringify(params["allowedValue"])}` };
    case "pattern": {
      const words = wordsOfPattern(String(params["pattern"]));
      if (words !== null) return { path: at(), message: words };
      const { description } = error.parentSchema as { description?: string };
      return {
        path: at(),
        message: `must match ${String(params["pattern"])}${description === undefined ? "" : ` (${description})`}`,
      };
    }
    case "minLength":
      return {
        path: at(),
        message:
          params["limit"] === 1
            ? "must not be empty"
            : `must have at least ${String(params["limit"])} characters`,
      };
    case "maxLength":
      return { path: at(), message: `may have at most ${String(params["limit"])} characters` };
    case "format":
      return {
        path: at(),
        message: `must be a ${String(params["format"])} (RFC 3339, such as 2026-11-20T09:15:00.123Z)`,
      };
    default:
      return { path: at(), message: error.message ?? "is not valid" };
  }
}
