// The committed OpenAPI documents: which operation a request is, and whether its body is one that it takes.

import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import { ROOT } from "./read-pages.ts";

type Parameter = { name?: string; in?: string };
type Body = { required?: boolean; content: Record<string, { schema?: object }> };
type Operation = { parameters: Parameter[]; security?: object[]; requestBody?: Body };
type Document = { paths: Record<string, Record<string, Operation>> };

export type Found = {
  name: string;
  template: string;
  method: string;
  operation: Operation;
  document: string;
};

const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
const operations: Found[] = [];
for (const file of globSync("openapi/*.json", { cwd: ROOT })) {
  const document = JSON.parse(readFileSync(path.join(ROOT, file), "utf8")) as Document;
  ajv.addSchema({ $id: file, ...document });
  for (const [template, item] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(item)) {
      const name = `${method.toUpperCase()} ${template}`;
      operations.push({ name, template, method: method.toUpperCase(), operation, document: file });
    }
}

/** How well a path fits: the number of segments that are the template's own words; null when it does not. */
function fit(template: string, asked: string): number | null {
  const [parts, segments] = [template.split("/"), asked.split("/")];
  if (parts.length !== segments.length) return null;
  let words = 0;
  for (const [i, part] of parts.entries()) {
    if (part.startsWith("{") ? segments[i] === "" : part !== segments[i]) return null;
    if (!part.startsWith("{")) words += 1;
  }
  return words;
}

/** The operation of a request; without a method, any of the path. */
export function findOperation(method: string | null, asked: string): Found | null {
  let best: { found: Found; words: number } | null = null;
  for (const found of operations) {
    if (method !== null && found.method !== method) continue;
    const words = fit(found.template, asked);
    if (words !== null && (best === null || words > best.words)) best = { found, words };
  }
  return best?.found ?? null;
}

/** Whether routes begin with the path, as those of `/api/worker` do. */
export const isBaseOfRoutes = (base: string): boolean =>
  operations.some(({ template }) => template.startsWith(`${base}/`));

/** What an ellipsis stands for is not there to be looked at. */
function isPlaceholder({ instancePath }: ErrorObject, body: unknown): boolean {
  let value = body;
  for (const part of instancePath.split("/").slice(1))
    value = (value as Record<string, unknown> | undefined)?.[
      part.replaceAll("~1", "/").replaceAll("~0", "~")
    ];
  return typeof value === "string" && value.includes("…");
}

function validatorOf({ document, template, method }: Found): ValidateFunction | undefined {
  const escape = (part: string): string => part.replaceAll("~", "~0").replaceAll("/", "~1");
  const pointer = ["paths", template, method.toLowerCase(), "requestBody/content", "application/json"]
    .map((part) => (part.includes("requestBody") ? part : escape(part)))
    .join("/");
  return ajv.getSchema(`${document}#${encodeURI(`/${pointer}/schema`)}`) as ValidateFunction | undefined;
}

/** What the operation's schema says against a JSON body; null when it fits. */
export function checkBody(found: Found, body: unknown): string | null {
  // It takes bytes of any type: JSON is as good as anything.
  if (found.operation.requestBody?.content["*/*"] !== undefined) return null;
  const validate = validatorOf(found);
  if (validate === undefined) return `${found.name} takes no JSON`;
  if (validate(body)) return null;
  const errors = (validate.errors ?? []).filter((error) => !isPlaceholder(error, body));
  return errors.length === 0 ? null : `${found.name}: ${ajv.errorsText(errors, { dataVar: "body" })}`;
}
