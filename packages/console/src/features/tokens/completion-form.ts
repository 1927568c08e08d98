import type { Token } from "@keelson/contract";

type Asked = Pick<Token, "metadata" | "tags">;

export type FormField = {
  name: string;
  /** Shown instead of the name. */
  title: string | null;
  description: string | null;
  kind: "text" | "number" | "integer" | "boolean" | "choice";
  choices: readonly string[];
  isRequired: boolean;
};

/** How a person is asked: a yes or no under that name, some fields, or any JSON. */
export type CompletionForm =
  | { kind: "decision"; property: string }
  | { kind: "fields"; fields: readonly FormField[] }
  | { kind: "json" };

const MAX_FIELDS = 12;
const APPROVAL = "approval";

/**
 * What the token's maker says is expected: a JSON Schema in `metadata.schema`, when it is one that a form can ask for, or
 * the word approval as a tag, or as `metadata.type` or `metadata.kind`.
 */
export function completionForm({ metadata, tags }: Asked): CompletionForm {
  const fields = fieldsOf(metadata["schema"]);
  if (fields !== null) {
    const [only] = fields;
    return fields.length === 1 && only?.kind === "boolean"
      ? { kind: "decision", property: only.name }
      : { kind: "fields", fields };
  }
  const words = [...tags, metadata["type"], metadata["kind"]];
  return words.some((word) => typeof word === "string" && word.toLowerCase() === APPROVAL)
    ? { kind: "decision", property: "approved" }
    : { kind: "json" };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null);

/** Null for a schema that has more than plain fields. */
function fieldsOf(schema: unknown): FormField[] | null {
  if (!isObject(schema) || schema["type"] !== "object" || !isObject(schema["properties"])) return null;
  const required: unknown[] = Array.isArray(schema["required"]) ? schema["required"] : [];
  const fields = Object.entries(schema["properties"]).map(([name, property]) =>
    toField(name, property, required.includes(name)),
  );
  if (fields.length === 0 || fields.length > MAX_FIELDS) return null;
  return fields.every((field) => field !== null) ? fields : null;
}

function toField(name: string, property: unknown, isRequired: boolean): FormField | null {
  // What every object has by itself is no name of a field.
  if (!isObject(property) || name in Object.prototype) return null;
  const common = {
    ...{ name, isRequired, choices: [] },
    title: textOf(property["title"]),
    description: textOf(property["description"]),
  };
  const choices: unknown = property["enum"];
  if (Array.isArray(choices))
    return choices.length > 0 && choices.every((choice) => typeof choice === "string")
      ? { ...common, kind: "choice", choices }
      : null;
  switch (property["type"]) {
    case "string":
      return { ...common, kind: "text" };
    case "number":
    case "integer":
    case "boolean":
      return { ...common, kind: property["type"] };
    default:
      return null;
  }
}

export type FieldValues = Record<string, string | boolean>;

/** What the fields hold as data, or what is wrong with them, by name. Empty fields that may be left out are. */
export function toCompletion(
  fields: readonly FormField[],
  values: FieldValues,
): { data: Record<string, unknown> } | { problems: Record<string, string> } {
  const data: [string, unknown][] = [];
  const problems: [string, string][] = [];
  for (const { name, kind, isRequired } of fields) {
    const value = values[name] ?? (kind === "boolean" ? false : "");
    if (typeof value === "boolean") data.push([name, value]);
    else if (value === "") {
      if (isRequired) problems.push([name, "is needed"]);
    } else if (kind === "number" || kind === "integer") {
      const number = Number(value);
      const isRight = kind === "integer" ? Number.isSafeInteger(number) : Number.isFinite(number);
      if (isRight) data.push([name, number]);
      else problems.push([name, kind === "integer" ? "must be a whole number" : "must be a number"]);
    } else data.push([name, value]);
  }
  return problems.length > 0
    ? { problems: Object.fromEntries(problems) }
    : { data: Object.fromEntries(data) };
}

/** Where makers of tokens usually say what they are for. */
const PURPOSE_FIELDS = [
  "title",
  "question",
  "action",
  "description",
  "message",
  "summary",
  "prompt",
  "name",
] as const;

/** What the token is for in words, when its metadata says; and the other fields of that. */
export function purposeOf({ metadata }: Pick<Token, "metadata">): {
  purpose: string | null;
  rest: Record<string, unknown>;
} {
  const field = PURPOSE_FIELDS.find((name) => typeof metadata[name] === "string" && metadata[name] !== "");
  if (field === undefined) return { purpose: null, rest: metadata };
  const { [field]: purpose, ...rest } = metadata;
  return { purpose: purpose as string, rest };
}

/** Who completed it, in words. */
export function describeCompleter(by: Token["completed_by"], userId: string): string {
  if (by === null) return "somebody";
  switch (by.kind) {
    case "user":
      return by.id === userId ? "you" : `user ${by.id ?? ""}`.trim();
    case "api_key":
      return `API key ${by.id ?? ""}`.trim();
    case "public":
      return "a browser with the token's public access token";
    case "callback":
      return "a provider by the callback URL";
  }
}
