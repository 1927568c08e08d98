// Holds what a server answers to the OpenAPI document: the status, the media type and the body of every answer.

import assert from "node:assert/strict";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormatsModule from "ajv-formats";
import { openApiDocument } from "../../src/http/openapi/document.ts";
import { routes } from "../../src/http/routes.ts";

// The document is looked into freely.
// oxlint-disable-next-line typescript/no-explicit-any
type Any = any;

export interface CheckedAnswer {
  readonly method: string;
  /** As it was sent, the query included. */
  readonly path: string;
  readonly status: number;
  readonly contentType: string | null;
  readonly text: string;
}

type Templates = { path: string; segments: string[] }[];

type BodyCheck = {
  readonly validate: ValidateFunction;
  /** The last body that it took: many callers are refused in the same words. */
  taken: string | null;
};

/** The paths of the document by the number of their segments, and what checks a body by the place of its schema. */
type Loaded = {
  document: Any;
  ajv: Ajv2020;
  templates: Map<number, Templates>;
  checks: Map<string, BodyCheck>;
};
type Found = { template: string; verb: string; operation: Any } | null;

let loaded: Loaded | undefined;

/** Made by the first file of a run that needs it, and kept for the others: 200 ms of processor for each of a hundred files. */
function loadDocument(): Any {
  const kept = process.env["KEELSON_TEST_DOCUMENT"];
  if (kept === undefined) return JSON.parse(writeAnswers());
  try {
    return JSON.parse(readFileSync(kept, "utf8"));
  } catch {
    // Nobody has made it yet.
  }
  const text = writeAnswers();
  const written = `${kept}.${process.pid}`;
  writeFileSync(written, text);
  renameSync(written, kept);
  return JSON.parse(text);
}

/** What the document says of the bodies of answers, without prose and examples: each file reads it and looks through it. */
function writeAnswers(): string {
  const { paths, components } = openApiDocument(routes) as Any;
  const bodiesOf = (responses: Any = {}): Any =>
    mapValues(responses, ({ $ref, content = {} }) => ({
      $ref,
      content: mapValues(content, ({ schema }) => ({ schema })),
    }));
  const answers = mapValues(paths, (item) =>
    mapValues(item, ({ responses }) => ({ responses: bodiesOf(responses) })),
  );
  const kept = { schemas: components.schemas, responses: bodiesOf(components.responses) };
  return JSON.stringify({ paths: answers, components: kept }, (key, value) => {
    // A property of these names has a schema, which is no text and no list.
    const isProse = key === "description" && typeof value === "string";
    return isProse || (key === "examples" && Array.isArray(value)) ? undefined : value;
  });
}

const mapValues = (object: Any, change: (value: Any) => Any): Any =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));

/** Made at the first answer. */
function load(): Loaded {
  if (loaded !== undefined) return loaded;
  const document = loadDocument();
  // That its schemas are schemas is a test of the document's own.
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    validateSchema: false,
    code: { optimize: false },
  });
  (addFormatsModule as unknown as typeof addFormatsModule.default)(ajv);
  ajv.addSchema({ $id: "document", ...document });
  const templates = Map.groupBy(
    Object.keys(document.paths).map((path) => ({ path, segments: path.split("/") })),
    ({ segments }) => segments.length,
  );
  loaded = { document, ajv, templates, checks: new Map() };
  return loaded;
}

const isParameter = (segment: string): boolean => segment.startsWith("{");

/**
 * The path of the document that a request is for, and its operation. A path that takes the method wins over one that does
 * not, then fixed segments over parameters, from the left.
 */
function findOperation({ document, templates }: Loaded, method: string, path: string): Found {
  const sent = (path.split("?", 1)[0] as string).split("/");
  const rank = (segments: string[]): string => segments.map((one) => (isParameter(one) ? "1" : "0")).join("");
  const fitting = (templates.get(sent.length) ?? [])
    .filter(({ segments }) => segments.every((segment, at) => isParameter(segment) || segment === sent[at]))
    .sort((a, b) => (rank(a.segments) < rank(b.segments) ? -1 : 1))
    .map((template) => {
      const item = document.paths[template.path];
      const verb = method === "HEAD" && item.head === undefined ? "get" : method.toLowerCase();
      return { template: template.path, verb, operation: item[verb] };
    });
  return fitting.find(({ operation }) => operation !== undefined) ?? fitting[0] ?? null;
}

/** A parameter that is longer is no part of any path. */
const LONGEST_PARAMETER = 512;
const isOverlong = (path: string): boolean =>
  (path.split("?", 1)[0] as string).split("/").some((segment) => segment.length > LONGEST_PARAMETER);

/** @throws AssertionError naming the operation when the document does not declare such an answer. */
export function checkAnswer({ method, path, status, contentType, text }: CheckedAnswer): void {
  if (method === "OPTIONS") return;
  const { document } = load();
  const found = findOperation(load(), method, path);
  const name = `${method} ${found?.template ?? path}`;
  if (found?.operation === undefined) {
    // The console's pages and files are no API.
    if (found === null && status === 200 && contentType?.startsWith("application/json") !== true) return;
    const refusals = [400, ...(found === null ? [404] : isOverlong(path) ? [404, 405] : [405])];
    assert.ok(refusals.includes(status), `${name} is not in the document and answered ${status}`);
    return method === "HEAD" ? undefined : checkBody("/components/schemas/Error", name, text);
  }
  const { template, verb, operation } = found;
  const declared = operation.responses[status];
  assert.ok(declared, `${name} answered ${status}, which the document does not declare`);
  const pointer =
    declared.$ref === undefined
      ? `/paths/${encode(template)}/${verb}/responses/${status}`
      : declared.$ref.slice(1);
  const content = pointer
    .split("/")
    .slice(1)
    .reduce((value: Any, part: string) => value[decode(part)], document).content;
  if (text === "" || method === "HEAD") return;
  const mediaType = contentType?.split(";", 1)[0]?.trim() ?? "";
  const media = content?.[mediaType] ?? content?.["*/*"];
  assert.ok(media, `${name} answered ${status} as ${mediaType}, which the document does not declare`);
  if (mediaType === "application/json" && media.schema !== undefined)
    checkBody(`${pointer}/content/application~1json/schema`, `${name}, ${status}`, text);
}

const encode = (part: string): string => part.replaceAll("~", "~0").replaceAll("/", "~1");
const decode = (part: string): string => part.replaceAll("~1", "/").replaceAll("~0", "~");

function checkBody(pointer: string, name: string, text: string): void {
  const check = checkAt(pointer, name);
  if (check.taken === text) return;
  const { validate } = check;
  const body = JSON.parse(text) as unknown;
  assert.ok(
    validate(body),
    `${name} answered what the document does not describe: ${load().ajv.errorsText(validate.errors)}\n${text.slice(0, 2_000)}`,
  );
  check.taken = text;
}

function checkAt(pointer: string, name: string): BodyCheck {
  const { ajv, checks } = load();
  const known = checks.get(pointer);
  if (known !== undefined) return known;
  const validate = ajv.getSchema(`document#${encodeURI(pointer)}`);
  assert.ok(validate, `${name}: the document has no schema at ${pointer}`);
  const check = { validate, taken: null };
  checks.set(pointer, check);
  return check;
}
