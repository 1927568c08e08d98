import type { ErrorIssue, Token } from "@keelson/contract";
import { createPayloadValidator, payloadSchemaIssues } from "../../../core/entrypoints/payload-validator.ts";
import { isFields, type Fields } from "./protocol.ts";

/**
 * How a client asks its user for the data of a token. The protocol knows flat forms only: text, numbers, yes or no, and
 * choices of texts. What is anything else is asked for as JSON in a text field.
 */
export type ElicitationForm = {
  message: string;
  /** The protocol's restricted JSON Schema. */
  requestedSchema: Fields;
  /** Makes the token's data of what the user entered. */
  toData(content: Fields): { data: unknown } | { issues: ErrorIssue[] };
  /** What completes the token when the user declines; absent: nothing does. */
  declined?: { data: unknown };
};

type Asked = Pick<Token, "id" | "metadata" | "tags">;

/** A field of the form, and what the text that was entered stands for. */
type FormField = { schema: Fields; parse(value: unknown): { value: unknown } | null };

/** Where makers of tokens usually say what they are for. */
const PURPOSE_FIELDS = ["title", "question", "action", "description", "message", "summary", "prompt", "name"];
const APPROVAL = "approval";
/** The only field of a form whose answer is no object. */
const ANSWER = "answer";
const FORMATS = new Set(["email", "uri", "date", "date-time"]);

export function elicitationForm({ id, metadata, tags }: Asked): ElicitationForm {
  const schema = isFields(metadata["schema"]) ? metadata["schema"] : null;
  const message = messageOf(id, metadata);
  const properties = schema === null ? null : propertiesOf(schema);
  if (schema !== null && properties !== null) return { message, ...objectForm(schema, properties) };
  const words = [...tags, metadata["type"], metadata["kind"]];
  if (schema === null && words.some((word) => typeof word === "string" && word.toLowerCase() === APPROVAL))
    return { message, ...objectForm(null, { approved: { type: "boolean", title: "Approve" } }) };
  return { message, ...answerForm(schema) };
}

function messageOf(id: string, metadata: Fields): string {
  const purpose = PURPOSE_FIELDS.map((name) => metadata[name]).find(
    (text) => typeof text === "string" && text !== "",
  );
  return typeof purpose === "string" ? purpose : `A run waits for an answer to token ${id}.`;
}

/** The fields of an object with declared fields alone; null for any other schema. */
function propertiesOf(schema: Fields): Fields | null {
  const { properties } = schema;
  if (!isFields(properties) || Object.keys(properties).length === 0) return null;
  if (schema["type"] !== undefined && schema["type"] !== "object") return null;
  return ["$ref", "allOf", "anyOf", "oneOf"].some((keyword) => Object.hasOwn(schema, keyword))
    ? null
    : properties;
}

function objectForm(schema: Fields | null, properties: Fields): Omit<ElicitationForm, "message"> {
  const fields = Object.entries(properties).map(([name, property]) => [name, fieldOf(property)] as const);
  const declared = schema === null ? Object.keys(properties) : schema["required"];
  const required = Array.isArray(declared) ? declared.filter((name) => typeof name === "string") : [];
  const [only, ...more] = fields;
  const isDecision = only !== undefined && more.length === 0 && only[1].schema["type"] === "boolean";
  return {
    requestedSchema: {
      type: "object",
      properties: Object.fromEntries(fields.map(([name, field]) => [name, field.schema])),
      required: isDecision ? [only[0]] : required,
    },
    toData: (content) => {
      const entered = new Map(Object.entries(content));
      const data: [string, unknown][] = [];
      for (const [name, field] of fields) {
        if (!entered.has(name)) continue;
        const parsed = field.parse(entered.get(name));
        if (parsed === null) return notJson(name);
        data.push([name, parsed.value]);
      }
      const unknown = [...entered.keys()].find((name) => !Object.hasOwn(properties, name));
      if (unknown !== undefined)
        return { issues: [{ path: `content.${unknown}`, message: "is not in the form; remove it" }] };
      return checked(schema ?? decisionSchema(properties), Object.fromEntries(data));
    },
    ...(isDecision && { declined: { data: { [only[0]]: false } } }),
  };
}

const decisionSchema = (properties: Fields): Fields => ({
  type: "object",
  properties,
  required: Object.keys(properties),
});

/** One field for whatever the answer is. Without a schema, a text that is no JSON is the answer itself. */
function answerForm(schema: Fields | null): Omit<ElicitationForm, "message"> {
  const flat = schema === null ? null : flatSchema(schema);
  const field =
    schema === null
      ? { schema: { type: "string", title: "Answer", description: "A text, or JSON." }, parse: textOrJson }
      : fieldOf(schema);
  return {
    requestedSchema: {
      type: "object",
      properties: { [ANSWER]: { title: "Answer", ...field.schema } },
      required: schema === null ? [] : [ANSWER],
    },
    toData: (content) => {
      const parsed = field.parse(content[ANSWER] ?? (flat === null ? "" : undefined));
      if (parsed === null) return notJson(ANSWER);
      return schema === null ? { data: parsed.value } : checked(schema, parsed.value);
    },
  };
}

const notJson = (name: string): { issues: ErrorIssue[] } => ({
  issues: [{ path: `content.${name}`, message: "must be JSON, such as [1, 2] or {}" }],
});

/** A schema that cannot be used refuses nothing: over the API, too, the token takes any data then. */
function checked(schema: Fields, data: unknown): { data: unknown } | { issues: ErrorIssue[] } {
  if (payloadSchemaIssues(schema, "schema").length > 0) return { data };
  const issues = createPayloadValidator(schema)(data);
  return issues.length === 0
    ? { data }
    : { issues: issues.map(({ path, message }) => ({ path: path.replace(/^payload/, "content"), message })) };
}

function fieldOf(property: unknown): FormField {
  const declared = isFields(property) ? property : {};
  const flat = flatSchema(declared);
  if (flat !== null) return { schema: flat, parse: (value) => ({ value }) };
  const says = typeof declared["description"] === "string" ? `${declared["description"]} ` : "";
  return {
    schema: { type: "string", ...pick(declared, { title: "string" }), description: `${says}Enter JSON.` },
    parse: asJson,
  };
}

/** The same in the protocol's words, which have no patterns; null where they do not suffice. */
function flatSchema(declared: Fields): Fields | null {
  const { type, enum: values, format } = declared;
  if (["$ref", "allOf", "anyOf", "const"].some((keyword) => Object.hasOwn(declared, keyword))) return null;
  const words = pick(declared, { title: "string", description: "string" });
  if (Object.hasOwn(declared, "oneOf")) {
    const choices = choicesOf(declared["oneOf"]);
    return choices === null ? null : { type: "string", ...words, oneOf: choices };
  }
  if (values !== undefined)
    return isTexts(values)
      ? { type: "string", ...words, enum: values, ...pick(declared, { default: "string" }) }
      : null;
  if (type === "boolean") return { type, ...words, ...pick(declared, { default: "boolean" }) };
  if (type === "number" || type === "integer") {
    const bounds = { minimum: "number", maximum: "number", default: "number" } as const;
    return { type, ...words, ...pick(declared, bounds) };
  }
  if (type !== "string") return null;
  const lengths = { minLength: "number", maxLength: "number", default: "string" } as const;
  const shown = typeof format === "string" && FORMATS.has(format) ? { format } : {};
  return { type, ...words, ...pick(declared, lengths), ...shown };
}

const isTexts = (values: unknown): values is string[] =>
  Array.isArray(values) && values.length > 0 && values.every((value) => typeof value === "string");

function choicesOf(parts: unknown): { const: string; title: string }[] | null {
  if (!Array.isArray(parts) || parts.length === 0) return null;
  const choices = parts.flatMap((part: unknown) => {
    if (!isFields(part) || typeof part["const"] !== "string") return [];
    const title = typeof part["title"] === "string" ? part["title"] : part["const"];
    return [{ const: part["const"], title }];
  });
  return choices.length === parts.length ? choices : null;
}

/** Those of the fields that are of their type. */
const pick = (declared: Fields, types: Readonly<Record<string, "string" | "number" | "boolean">>): Fields =>
  Object.fromEntries(
    Object.entries(types).flatMap(([name, type]) =>
      Object.hasOwn(declared, name) && typeof declared[name] === type ? [[name, declared[name]]] : [],
    ),
  );

function asJson(value: unknown): { value: unknown } | null {
  if (typeof value !== "string") return null;
  try {
    return { value: JSON.parse(value) as unknown };
  } catch {
    return null;
  }
}

const textOrJson = (value: unknown): { value: unknown } =>
  value === "" ? { value: null } : (asJson(value) ?? { value });
