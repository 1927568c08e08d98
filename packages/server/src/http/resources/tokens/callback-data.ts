import { isUtf8 } from "node:buffer";
import { invalidRequest } from "../../../domain-error.ts";
import { checkIJson, checkFormText } from "../../edge/check-i-json.ts";
import { checkHugeNumbers, parseJson } from "../../edge/parse-json.ts";

type FileField = { filename: string; content_type: string; base64: string };

/**
 * What a provider's body completes a token with: JSON as it is, the fields of a form as an object (a field that is there
 * more than once as a list, a file as `{filename, content_type, base64}`), other text as `{content_type, text}`, anything
 * else as `{content_type, base64}`, and no body as null. The same body always makes the same data.
 *
 * @throws DomainError `invalid_request` for a body that is not what its type says, or not I-JSON.
 */
export async function callbackData(body: unknown, contentType: string | null): Promise<unknown> {
  if (!Buffer.isBuffer(body) || body.length === 0) return null;
  const type = contentType?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (type === "application/json" || type.endsWith("+json")) return jsonData(body);
  if (type === "application/x-www-form-urlencoded" || type === "multipart/form-data")
    return formData(body, contentType ?? "");
  const text = isText(type) ? decode(body, contentType) : null;
  return text === null
    ? { content_type: contentType, base64: body.toString("base64") }
    : { content_type: contentType, text };
}

function jsonData(body: Buffer): unknown {
  if (!isUtf8(body)) throw invalidRequest([{ path: "body", message: "encode it as UTF-8" }]);
  const text = body.toString("utf8");
  const value = parseJson(text);
  checkHugeNumbers(text, value);
  checkIJson(text, value);
  return value;
}

async function formData(body: Buffer, contentType: string): Promise<Record<string, unknown>> {
  const fields = new Map<string, (string | FileField)[]>();
  for (const [name, value] of await readForm(body, contentType)) {
    checkFormText("body", name);
    const field = typeof value === "string" ? value : await fileField(value);
    checkFormText(name, typeof field === "string" ? field : field.filename);
    const values = fields.get(name);
    if (values === undefined) fields.set(name, [field]);
    else values.push(field);
  }
  // Not by assignment: a field may be called `__proto__`.
  return Object.fromEntries(
    [...fields].map(([name, values]) => [name, values.length === 1 ? values[0] : values]),
  );
}

/** The platform reads forms as the Fetch standard says. It does so in memory, where the body is already. */
async function readForm(body: Buffer, contentType: string): Promise<FormData> {
  try {
    // oxlint-disable-next-line typescript/no-deprecated -- advised against for uploads that are larger than this can be
    return await new Response(new Uint8Array(body), { headers: { "content-type": contentType } }).formData();
  } catch (cause) {
    throw invalidRequest([
      { path: "body", message: `send a form as its Content-Type says (${(cause as Error).message})` },
    ]);
  }
}

async function fileField(file: File): Promise<FileField> {
  const base64 = Buffer.from(await file.arrayBuffer()).toString("base64");
  return { filename: file.name, content_type: file.type, base64 };
}

const TEXT_TYPES =
  /^(text\/|application\/(xml|yaml|x-yaml|x-ndjson|ndjson|javascript|graphql|sql|toml)$|$)|\+(xml|yaml)$/;

/** Without a type it is taken for text if it can be. */
const isText = (type: string): boolean => TEXT_TYPES.test(type);

/** The text in the encoding that the type names, or UTF-8; null when the bytes are no such text, or have NUL. */
function decode(body: Buffer, contentType: string | null): string | null {
  const charset = /;\s*charset="?([\w.:-]+)"?/i.exec(contentType ?? "")?.[1] ?? "utf-8";
  try {
    const text = new TextDecoder(charset, { fatal: true }).decode(body);
    return text.includes("\0") ? null : text;
  } catch {
    // No such encoding, or not in it: the bytes are kept as they are.
    return null;
  }
}
