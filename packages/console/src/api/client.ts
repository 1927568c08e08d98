import { HEADERS } from "@keelson/contract/plain";
import { createPageClient } from "@keelson/sdk/browser";

/** Of `GET /api/me`: unsafe requests of a session by cookie need it. Read at each request. */
const headers: Record<string, string> = {};

/** Calls of the server that this page came from. Repeats are made where failures are shown, not here. */
export const client = createPageClient({ url: location.origin, headers, maxRetries: 0 });

export function setCsrfToken(token: string | null): void {
  if (token === null) delete headers[HEADERS.csrfToken];
  else headers[HEADERS.csrfToken] = token;
}

type Query = Record<string, string | number | readonly string[] | undefined>;

export const get = <T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> =>
  client.request<T>({ method: "GET", path, query, ...(signal !== undefined && { signal }) });

export const send = <T>(
  method: "POST" | "PUT" | "PATCH" | "DELETE",
  path: string,
  { query = {}, body }: { query?: Query; body?: unknown } = {},
): Promise<T> =>
  client.request<T>({ method, path, query, ...(body !== undefined && { body: { json: body } }) });

/** All rows of a list of bounded length, read page by page. */
export async function getAll<Row>(path: string, name: string, query: Query = {}): Promise<Row[]> {
  const rows: Row[] = [];
  let cursor: string | undefined;
  do {
    const page = await get<Record<string, Row[]> & { next_cursor: string | null }>(path, {
      ...query,
      limit: 200,
      cursor,
    });
    rows.push(...(page[name] ?? []));
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return rows;
}
