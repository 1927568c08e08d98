import type { Route } from "../edge/route.ts";

/** The variable that holds the credential of each kind of caller. */
const CREDENTIALS: Record<Route["access"]["kind"], string | null> = {
  public: null,
  environment: "KEELSON_API_KEY",
  caller: "KEELSON_API_KEY",
  organization: "KEELSON_USER_TOKEN",
  project: "KEELSON_USER_TOKEN",
  user: "KEELSON_USER_TOKEN",
  visitor: "KEELSON_USER_TOKEN",
  worker: "WORKER_TOKEN",
  public_access: "PUBLIC_ACCESS_TOKEN",
  public_run_access: "PUBLIC_ACCESS_TOKEN",
  completion_token: "PUBLIC_ACCESS_TOKEN",
  admin: "KEELSON_ADMIN_KEY",
  capacity: "KEELSON_CAPACITY_KEY",
};

/** `@file` stands for bytes; JSON is given as it is. */
export type CurlBody = { json: unknown } | { mediaType: string } | null;

const LINE = 60;

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

function jsonText(json: unknown): string {
  const short = JSON.stringify(json);
  return short.length <= LINE ? short : JSON.stringify(json, null, 2);
}

/** What stands for any type: of a callback JSON, and of a file a picture. */
const anyType = (rawBody: Route["rawBody"]): string =>
  rawBody?.isStream === true ? "image/png" : "application/json";

/** A command that calls the route, as one copies it into a shell. */
export function curlSample(
  { method, access, rawBody }: Pick<Route, "method" | "access" | "rawBody">,
  path: string,
  body: CurlBody,
): string {
  const credential = CREDENTIALS[access.kind];
  const isUsual = method === "GET" || (method === "POST" && body !== null);
  const parts = [
    `curl -sS${isUsual ? "" : ` -X ${method}`} "$KEELSON_URL${path}"`,
    ...(credential === null ? [] : [`-H "Authorization: Bearer $${credential}"`]),
  ];
  if (body !== null && "json" in body)
    parts.push("-H 'Content-Type: application/json'", `-d ${quoted(jsonText(body.json))}`);
  else if (body !== null)
    parts.push(
      `-H ${quoted(`Content-Type: ${body.mediaType === "*/*" ? anyType(rawBody) : body.mediaType}`)}`,
      "--data-binary @body",
    );
  return parts.join(" \\\n  ");
}
