/** The environment in which a signed-in person acts. */
export type PlaceIds = { projectId: string; environmentId: string };

const isJsonText = (init: RequestInit): init is RequestInit & { body: string } =>
  typeof init.body === "string" &&
  new Headers(init.headers).get("content-type")?.startsWith("application/json") === true;

/** Adds fields to the text of a JSON object. The text is not parsed: a large number would lose digits. */
function withFields(text: string, fields: Record<string, string>): string {
  const rest = text.trimStart().slice(1);
  const isEmpty = rest.trimStart().startsWith("}");
  return `${JSON.stringify(fields).slice(0, -1)}${isEmpty ? "" : ","}${rest}`;
}

/**
 * A `fetch` for a client that shows a person's session. /v1 takes only API keys, so a request goes to the same route under
 * /api, and names the environment: in a JSON body when there is one, else in the query.
 */
export function createSessionFetch(
  serverUrl: string,
  { projectId, environmentId }: PlaceIds,
): typeof globalThis.fetch {
  const fields = { project_id: projectId, environment_id: environmentId };
  return (input, init = {}) => {
    const path = (input as string).slice(serverUrl.length);
    const url = new URL(serverUrl + path.replace(/^\/v1\//, "/api/"));
    const method = init.method ?? "GET";
    if (method !== "DELETE" && isJsonText(init))
      return fetch(url, { ...init, body: withFields(init.body, fields) });
    for (const [name, value] of Object.entries(fields)) url.searchParams.set(name, value);
    return fetch(url, init);
  };
}
