// Requests that a page shows, by curl or as HTTP: the route, its query and its JSON body are those of the OpenAPI documents.

import { checkBody, findOperation } from "./api-documents.ts";

export type Request = {
  method: string;
  /** With its query. */
  target: string;
  headers: readonly string[];
  /** Null when there is none, or none that is shown. */
  body: string | null;
};

const header = (request: Request, name: string): string | null =>
  request.headers
    .find((line) => line.toLowerCase().startsWith(`${name}:`))
    ?.slice(name.length + 1)
    .trim() ?? null;

function checkJson(text: string): { value: unknown } | { message: string } {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { message: `the body is not JSON: ${(error as Error).message}` };
  }
}

/** What is wrong with the request, one text each. */
export function checkRequest(request: Request): string[] {
  const [asked = "", query = ""] = request.target.split("?");
  const found = findOperation(request.method, asked);
  if (found === null) return [`no route is ${request.method} ${asked}`];
  const wrong: string[] = [];
  const known = found.operation.parameters.filter((parameter) => parameter.in === "query");
  for (const name of new URLSearchParams(query).keys())
    if (!known.some((parameter) => parameter.name === name)) wrong.push(`${found.name} has no query ${name}`);
  if ((found.operation.security ?? []).length > 0 && header(request, "authorization") === null)
    wrong.push(`${found.name} needs the header Authorization`);
  const { requestBody } = found.operation;
  if (request.body === null) {
    if (requestBody?.required === true && request.headers.every((line) => !/^content-type:/i.test(line)))
      wrong.push(`${found.name} needs a body`);
    return wrong;
  }
  if (requestBody === undefined) return [...wrong, `${found.name} takes no body`];
  const type = header(request, "content-type")?.split(";")[0];
  if (type === undefined) return [...wrong, `${found.name} needs the header Content-Type`];
  if (!(type in requestBody.content) && !("*/*" in requestBody.content))
    return [...wrong, `${found.name} takes ${Object.keys(requestBody.content).join(", ")}, not ${type}`];
  if (type !== "application/json") return wrong;
  const json = checkJson(request.body);
  const refused = "message" in json ? json.message : checkBody(found, json.value);
  return refused === null ? wrong : [...wrong, refused];
}
