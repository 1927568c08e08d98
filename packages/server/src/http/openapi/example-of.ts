import type { JsonSchema } from "./components.ts";

/** A Crockford base32 UUIDv7 suffix. */
const ID_SUFFIX = "01kadc5m9sfe7v0k3xw2q8r4nt";
const MAX_DEPTH = 8;

/** Texts by the pattern that they fit, for what no declared example exists. */
const TEXTS = [
  "1",
  "30s",
  "default",
  "repository-report",
  "ada@example.com",
  "/device",
  "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
];

/** Texts by the name of the field, where any text would do but one says more. */
const BY_NAME: Record<string, string> = {
  version: "20261120.1",
  deployment_version: "20261120.1",
  api_version: "2026-06-06",
  code: "not_found",
  request_id: "01936f5e-7c2a-7b64-8d10-0c9c1f0a7b11",
  message: "What happened, and what to do next.",
  data: "aGVsbG8K",
  stdout: "aGVsbG8K",
  stderr: "",
  declared_id: "repository-report",
  task: "repository-report",
  queue: "default",
  commit: "3b18e512dba79e4c8300dd08aeb37f8e728b8dad",
  branch: "main",
  name: "Reports",
  slug: "reports",
  email: "ada@example.com",
  permissions: "runs.read",
  user_code: "BCDF-GHJK",
  device_code: "kl_dev_…",
  access_token: "kl_usr_…",
  api_key: "kl_key_…",
  verification_uri: "https://keelson.example.com/device",
  verification_uri_complete: "https://keelson.example.com/device#user_code=BCDF-GHJK",
};

/**
 * An example of a schema, the same every time. It is made where a route gives none, so that no operation of the document
 * is without one; a test holds every example against its schema.
 *
 * @param resolve finds the schema of a `$ref`
 */
export function exampleOf(
  schema: JsonSchema,
  resolve: (ref: string) => JsonSchema,
  name = "",
  depth = 0,
): unknown {
  if (typeof schema["$ref"] === "string") return exampleOf(resolve(schema["$ref"]), resolve, name, depth);
  if ("const" in schema) return schema["const"];
  if (Array.isArray(schema["enum"])) return schema["enum"][0];
  const branches = (schema["anyOf"] ?? schema["oneOf"]) as JsonSchema[] | undefined;
  if (branches !== undefined) {
    // What may be absent is shown absent, unless there is something typical to show.
    const isNullable = branches.some((branch) => branch["type"] === "null");
    if (isNullable && BY_NAME[name] === undefined) return null;
    return exampleOf(branches[0] as JsonSchema, resolve, name, depth);
  }
  switch (schema["type"]) {
    case "object":
      return objectExample(schema, resolve, depth);
    case "array": {
      const count = depth >= MAX_DEPTH ? 0 : 1;
      return Array.from({ length: Math.max(count, Number(schema["minItems"] ?? 0)) }, () =>
        exampleOf((schema["items"] ?? {}) as JsonSchema, resolve, name, depth + 1),
      );
    }
    case "string":
      return textExample(schema, name);
    case "integer":
    case "number":
      return Math.max(1, Number(schema["minimum"] ?? 0));
    case "boolean":
      return true;
    case "null":
      return null;
    default:
      return depth >= MAX_DEPTH ? null : { path: "docs" };
  }
}

function objectExample(
  schema: JsonSchema,
  resolve: (ref: string) => JsonSchema,
  depth: number,
): Record<string, unknown> {
  const properties = (schema["properties"] ?? {}) as Record<string, JsonSchema>;
  const required = new Set((schema["required"] ?? []) as string[]);
  const shown = Object.entries(properties).filter(([key]) => required.has(key));
  return Object.fromEntries(
    shown.map(([key, property]) => [key, exampleOf(property, resolve, key, depth + 1)]),
  );
}

function textExample(schema: JsonSchema, name: string): string {
  if (schema["format"] === "date-time") return "2026-11-20T09:15:00.123Z";
  const pattern = schema["pattern"] === undefined ? null : new RegExp(schema["pattern"] as string);
  const named = BY_NAME[name];
  if (named !== undefined && (pattern === null || pattern.test(named))) return named;
  if (pattern === null) return name === "" ? "text" : name.replaceAll("_", " ");
  const prefix = /^\^\(?([a-z]+)[_|]/.exec(pattern.source)?.[1];
  const candidates = prefix === undefined ? TEXTS : [`${prefix}_${ID_SUFFIX}`, ...TEXTS];
  const fitting = candidates.find((text) => pattern.test(text));
  if (fitting === undefined)
    throw new Error(`No example fits the pattern ${pattern.source}; add one to example-of.ts.`);
  return fitting;
}
