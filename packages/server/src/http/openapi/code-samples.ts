import type { Route } from "../edge/route.ts";
import type { JsonSchema } from "./components.ts";
import { curlSample, type CurlBody } from "./curl-sample.ts";
import { sdkSample } from "./sdk-samples.ts";

type Parameter = { name?: string; in?: string; required?: boolean; example?: unknown };
type Body = { content: Record<string, { example?: unknown }> } | null;

function bodyOf(body: Body, isRequired: boolean): CurlBody {
  if (body === null) return null;
  const json = body.content["application/json"];
  if (json === undefined) return { mediaType: Object.keys(body.content)[0] as string };
  const isEmpty = Object.keys(json.example ?? {}).length === 0;
  return isEmpty && !isRequired ? null : { json: json.example };
}

/** The path with its parameters filled in, and the query that must be given. */
function pathOf(path: string, parameters: readonly Parameter[]): string {
  const named = (where: string): Parameter[] =>
    parameters.filter((parameter) => parameter.in === where && parameter.required === true);
  const filled = named("path").reduce(
    (text, { name, example }) => text.replace(`{${name}}`, encodeURIComponent(String(example))),
    path,
  );
  const query = named("query").map(({ name, example }) => `${name}=${encodeURIComponent(String(example))}`);
  return query.length === 0 ? filled : `${filled}?${query.join("&")}`;
}

/** How the operation is called from a shell, and by the SDK where it has a method for it. */
export function codeSamples(
  route: Route,
  path: string,
  parameters: readonly JsonSchema[],
  body: JsonSchema | null,
): JsonSchema[] {
  const sent = bodyOf(body as Body, body?.["required"] === true);
  const typescript = sdkSample(route.operationId);
  return [
    {
      lang: "Shell",
      label: "curl",
      source: curlSample(route, pathOf(path, parameters), sent),
    },
    ...(typescript === null ? [] : [{ lang: "TypeScript", label: "SDK", source: typescript }]),
  ];
}
