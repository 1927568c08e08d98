import * as contract from "../../packages/contract/src/index.ts";

/** What the client answers, and the one document that it sends: where the SDK's spelling stops in each is generated. */
const NAMES = [
  "AcceptedInvitation",
  "Actor",
  "ApiKey",
  "AuditEvent",
  "BulkAction",
  "BulkActionItem",
  "BulkActionPreview",
  "CreatedApiKey",
  "CreatedPublicAccessToken",
  "CreatedToken",
  "Deployment",
  "DeploymentEvent",
  "DeploymentManifest",
  "DeviceToken",
  "DiffEntry",
  "Environment",
  "EntrypointMetricsList",
  "ErrorGroup",
  "Exec",
  "ExecResult",
  "FileEntry",
  "Invitation",
  "Me",
  "Member",
  "Project",
  "Pty",
  "PublicRun",
  "RecordPage",
  "Run",
  "Message",
  "MessageInterrupted",
  "RunCall",
  "RunEvent",
  "RunLogChunk",
  "RunLogSnapshot",
  "RunMetrics",
  "Sandbox",
  "Schedule",
  "ScheduleOccurrence",
  "Secret",
  "SentRecord",
  "Session",
  "SessionFile",
  "SessionState",
  "StartBatchResult",
  "StartedActor",
  "StartedAndWaited",
  "StartedDevice",
  "Stream",
  "StreamRecord",
  "Task",
  "Token",
  "TokenCompletion",
  "UploadedBundle",
  "Usage",
  "Worker",
  "Workspace",
  "WorkspaceVersion",
  "WrittenFile",
] as const;

export type Schema = {
  type?: string | string[];
  properties?: Record<string, Schema>;
  patternProperties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  allOf?: Schema[];
  oneOf?: Schema[];
  $ref?: string;
};

/** Null where nothing is renamed: a scalar, any JSON, or a map to such. */
export type ShapeText = { [key: string]: ShapeText };

/** Maps of facts that the server itself writes: their keys are ours, and what they hold stays as it is. */
const FACTS = new Set(["details", "attributes"]);

/** A record is told from any JSON by having no properties of its own. */
const isMap = (schema: Schema): boolean => schema.patternProperties !== undefined;

const isMapOrNull = (schema: Schema): boolean => isMap(schema) || (schema.anyOf ?? []).some(isMap);

function merge(one: ShapeText | null, other: ShapeText | null): ShapeText | null {
  if (one === null || other === null) return one ?? other;
  const merged = { ...one };
  for (const [key, shape] of Object.entries(other)) merged[key] = merge(merged[key] ?? null, shape) ?? {};
  return merged;
}

/** Whether a member of a union says that a key holds any JSON, where another says that it holds an object of ours. */
function checkMembers(members: readonly Schema[], where: string): void {
  const objects = members.filter(({ properties }) => properties !== undefined);
  for (const { properties = {} } of objects)
    for (const [key, schema] of Object.entries(properties))
      for (const other of objects) {
        const twin = other.properties?.[key];
        if (twin === undefined || isScalar(schema) || isScalar(twin)) continue;
        if ((shapeOf(schema, where) === null) !== (shapeOf(twin, where) === null))
          throw new Error(
            `${where}.${key} is an object of ours in one member of a union, and JSON in another.`,
          );
      }
}

const isScalar = (schema: Schema): boolean =>
  (schema.type !== undefined && schema.type !== "object" && schema.type !== "array") ||
  "const" in schema ||
  "enum" in schema;

/** Which properties of a schema's objects hold objects of ours; null when it has none. */
export function shapeOf(schema: Schema, where: string): ShapeText | null {
  if (schema.$ref !== undefined) throw new Error(`${where}: the shapes of references are not generated yet.`);
  const members = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (members !== undefined) {
    checkMembers(members, where);
    return members.map((member) => shapeOf(member, where)).reduce(merge, null);
  }
  if (schema.items !== undefined) return shapeOf(schema.items, where);
  if (schema.properties !== undefined) {
    const shape: ShapeText = {};
    for (const [key, property] of Object.entries(schema.properties)) {
      const child = FACTS.has(key) && isMapOrNull(property) ? {} : shapeOf(property, `${where}.${key}`);
      if (child !== null) shape[key] = child;
    }
    return shape;
  }
  const [values] = Object.values(schema.patternProperties ?? {});
  const ofValues = values === undefined ? null : shapeOf(values, `${where}.*`);
  return ofValues === null ? null : { "*": ofValues };
}

const literal = (shape: ShapeText): string => {
  const keys = Object.keys(shape).toSorted();
  if (keys.length === 0) return "{}";
  const fields = keys.map(
    (key) => `${/^\w+$/.test(key) ? key : JSON.stringify(key)}: ${literal(shape[key] ?? {})}`,
  );
  return `{ ${fields.join(", ")} }`;
};

/** Schemas of the contract by the names of their types. */
export const schemaOf = (name: string): Schema => {
  const schema = (contract as unknown as Record<string, Schema | undefined>)[name];
  if (schema === undefined) throw new Error(`${name} is no schema of the contract.`);
  return schema;
};

export const shapeNames: readonly string[] = NAMES;

/** The SDK's file of shapes. */
export function wireShapes(): [file: string, text: string][] {
  const lines = NAMES.map((name) => {
    const constant = `${name[0]?.toLowerCase()}${name.slice(1)}Shape`;
    return `export const ${constant}: Shape<Wire.${name}> = ${literal(shapeOf(schemaOf(name), name) ?? {})};`;
  });
  const head = [
    "// Generated by `npm run generate` from the schemas of the contract. Do not edit.",
    'import type * as Wire from "@keelson/contract";',
    'import type { Shape } from "./camel-cased.ts";',
  ];
  return [["packages/sdk/src/client/wire-shapes.ts", `${head.join("\n")}\n\n${lines.join("\n")}\n`]];
}
