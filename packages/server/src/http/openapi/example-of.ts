import type { JsonSchema } from "./components.ts";

const MAX_DEPTH = 8;

/** Values by the name of the field, where the name says the same everywhere and the schema declares no example. */
const BY_NAME: Record<string, unknown> = {
  access_token: "kl_usr_0000000000000000000000000000000000000",
  action: "api_keys.revoke",
  api_key: "kl_key_0000000000000000000000000000000000000",
  api_version: "2026-06-06",
  attempt_number: 1,
  bytes: 6,
  check_id: "1",
  code: "not_found",
  cols: 120,
  command: "npm",
  commit: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
  commit_id: "01936f5e-7c2a-7b64-8d10-0c9c1f0a7b12",
  cron: "0 7 * * 1",
  cursor: "12",
  cwd: "",
  data: "aGVsbG8K",
  declared_id: "send-report",
  deduplication_key: "weekly-report",
  deployment_version: "20261120.7",
  device_code: "kl_dev_0000000000000000000000000000000000000",
  earliest_cursor: "0",
  email: "ada@example.com",
  enrollment_token: "kl_enr_0000000000000000000000000000000000000",
  env_names: "CI",
  expires_in: 900,
  file_count: 214,
  fsync: "on",
  full_page_writes: "on",
  id: "1",
  interval: 5,
  isolation: "container",
  key: "progress",
  kind: "api_key",
  lease_request_id: "01936f5e-7c2a-7b64-8d10-0c9c1f0a7b13",
  max_attempts: 5,
  max_connections: 100,
  message: "The report of week 47 has no rows.",
  name: "Reports",
  nonce: "0000000000000000000000000000000000000000000",
  offset: 0,
  parent_version_id: "wsv_01kahw3m9xe0q8k2n5v7r1t4cd",
  path: "src/main.ts",
  permissions: "runs.read",
  priority: 0,
  queue: "reports",
  request_id: "01936f5e-7c2a-7b64-8d10-0c9c1f0a7b11",
  rows: 40,
  runtime: "Node.js 24.21.0",
  sandbox: "node",
  setup: "npm ci",
  size_bytes: 48_211,
  slug: "reports",
  status: "live",
  stderr: "",
  stdout: "aGVsbG8K",
  synchronous_commit: "on",
  task: "send-report",
  timezone: "Europe/Vienna",
  token: "kl_usr_0000000000000000000000000000000000000",
  user_code: "BCDF-GHJK",
  verification_uri: "https://keelson.example.com/device",
  verification_uri_complete: "https://keelson.example.com/device#user_code=BCDF-GHJK",
  version: "0.1.0",
};

type Resolve = (ref: string) => JsonSchema;

/**
 * An example of a schema, the same every time: what the schema declares in `examples`, else one made of its parts. A test
 * holds every example of the document against its schema.
 *
 * @param resolve finds the schema of a `$ref`
 * @throws Error for a text of which nothing is known
 */
export function exampleOf(schema: JsonSchema, resolve: Resolve, name = "", depth = 0): unknown {
  const [declared] = (schema["examples"] ?? []) as unknown[];
  if (declared !== undefined) return declared;
  if (typeof schema["$ref"] === "string") return exampleOf(resolve(schema["$ref"]), resolve, name, depth);
  if ("const" in schema) return schema["const"];
  if (Array.isArray(schema["enum"])) return schema["enum"][0];
  const branches = (schema["anyOf"] ?? schema["oneOf"]) as JsonSchema[] | undefined;
  if (branches !== undefined) {
    // What may be absent is shown absent.
    const isNullable = branches.some((branch) => branch["type"] === "null");
    return isNullable ? null : exampleOf(branches[0] as JsonSchema, resolve, name, depth);
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
      return numberExample(schema, name);
    case "boolean":
      return false;
    case "null":
      return null;
    default:
      return null;
  }
}

/** Of an answer all fields are required; of a body those are shown that must be there. */
function objectExample(schema: JsonSchema, resolve: Resolve, depth: number): Record<string, unknown> {
  const properties = (schema["properties"] ?? {}) as Record<string, JsonSchema>;
  const required = new Set((schema["required"] ?? []) as string[]);
  const shown = Object.entries(properties).filter(([key]) => required.has(key));
  return Object.fromEntries(
    shown.map(([key, property]) => [key, exampleOf(property, resolve, key, depth + 1)]),
  );
}

function numberExample(schema: JsonSchema, name: string): number {
  const named = BY_NAME[name];
  const minimum = Number(schema["minimum"] ?? 0);
  const maximum = Number(schema["maximum"] ?? Infinity);
  if (typeof named === "number" && named >= minimum && named <= maximum) return named;
  return Math.min(Math.max(1, minimum), maximum);
}

function textExample(schema: JsonSchema, name: string): string {
  const pattern = schema["pattern"] === undefined ? null : new RegExp(schema["pattern"] as string);
  const named = BY_NAME[name];
  if (typeof named === "string" && (pattern === null || pattern.test(named))) return named;
  throw new Error(
    `No example is known for the text "${name}" of ${JSON.stringify(schema)}. Declare \`examples\` with its schema.`,
  );
}
