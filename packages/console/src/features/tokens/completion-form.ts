import type { Token } from "@keelson/contract";
import { describeSchema, toSchema, type Schema } from "../../ui/schema-form/json-schema.ts";

type Asked = Pick<Token, "metadata" | "tags">;

/** How a person is asked: a yes or no under that name, what a schema says, or any JSON. */
export type CompletionForm =
  | { kind: "decision"; property: string }
  | { kind: "fields"; schema: Schema }
  | { kind: "json" };

const APPROVAL = "approval";

/**
 * What the token's maker says is expected: a JSON Schema in `metadata.schema`, when it is one that a form can ask for, or
 * the word approval as a tag, or as `metadata.type` or `metadata.kind`.
 */
export function completionForm({ metadata, tags }: Asked): CompletionForm {
  const schema = toSchema(metadata["schema"]);
  const { kind, fields } = describeSchema(schema, schema);
  const [only] = fields;
  if (only !== undefined && fields.length === 1 && isYesOrNo(only.schema, schema))
    return { kind: "decision", property: only.name };
  if (kind !== "json") return { kind: "fields", schema };
  const words = [...tags, metadata["type"], metadata["kind"]];
  return words.some((word) => typeof word === "string" && word.toLowerCase() === APPROVAL)
    ? { kind: "decision", property: "approved" }
    : { kind: "json" };
}

function isYesOrNo(schema: Schema, root: Schema): boolean {
  const { kind, isNullable } = describeSchema(schema, root);
  return kind === "boolean" && !isNullable;
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

/** What the one who completed it did, in a word that a sentence begins with. */
export function outcomeVerb(
  token: Pick<Token, "data" | "metadata" | "tags">,
): "Approved" | "Refused" | "Completed" {
  const form = completionForm(token);
  const { data } = token;
  if (form.kind !== "decision" || typeof data !== "object" || data === null) return "Completed";
  const decided = (data as Record<string, unknown>)[form.property];
  return decided === true ? "Approved" : decided === false ? "Refused" : "Completed";
}

/** Who completed it, in words. */
export function describeCompleter(by: Token["completed_by"], userId: string): string {
  if (by === null) return "somebody";
  switch (by.kind) {
    case "user":
      return by.id === userId ? "you" : `user ${by.id ?? ""}`.trim();
    case "api_key":
      return `API key ${by.id ?? ""}`.trim();
    case "run":
      return `run ${by.id ?? ""}`.trim();
    case "public":
      return "a browser with the token's public access token";
    case "callback":
      return "a provider by the callback URL";
  }
}
