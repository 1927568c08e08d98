import { HEADERS } from "@keelson/contract/plain";
import {
  createPageClient,
  type FollowOptions,
  type InputWriter,
  type StreamEvent,
} from "@keelson/sdk/browser";
import type { Address, AnswerOf, BodyOf, QueryOf, RowOf } from "./route.ts";

/** Of `GET /api/me`: unsafe requests of a session by cookie need it. Read at each request. */
const headers: Record<string, string> = {};

/** Calls of the server that this page came from. Repeats are made where failures are shown, not here. */
const client = createPageClient({ url: location.origin, headers, maxRetries: 0 });

export function setCsrfToken(token: string | null): void {
  if (token === null) delete headers[HEADERS.csrfToken];
  else headers[HEADERS.csrfToken] = token;
}

/** As the transport takes it: a route's own type has said which parameters there are. */
type Parameters = Record<string, string | number | readonly string[] | undefined>;

/** A part that a request needs, may have, or must not have, as its type says. */
type Part<Name extends string, Value> = [Value] extends [undefined]
  ? object
  : object extends Value
    ? { [key in Name]?: Value }
    : { [key in Name]: Value };
type Sent<R> = Part<"query", QueryOf<R>> & Part<"body", BodyOf<R>>;
type Extras = { headers?: Record<string, string>; signal?: AbortSignal };

export const get = <R extends Address>(
  { path }: R,
  query: QueryOf<R>,
  signal?: AbortSignal,
): Promise<AnswerOf<R>> =>
  client.request({
    method: "GET",
    path,
    query: query as Parameters,
    ...(signal !== undefined && { signal }),
  });

/** The answer's bytes, of a route that answers no JSON. */
export const getBytes = <R extends Address>(
  { path }: R,
  query: QueryOf<R>,
  extras: Extras,
): Promise<Uint8Array> => client.requestBytes({ method: "GET", path, query: query as Parameters, ...extras });

/** Bytes are sent as they are, anything else as JSON. */
export function send<R extends Address>(
  { method, path }: R,
  ...[sent]: object extends Sent<R> ? [(Sent<R> & Extras)?] : [Sent<R> & Extras]
): Promise<AnswerOf<R>> {
  const { query, body, ...extras }: { query?: object; body?: unknown } & Extras = sent ?? {};
  return client.request({
    method: method as "POST",
    path,
    ...(query !== undefined && { query: query as Parameters }),
    ...(body !== undefined && { body: body instanceof Uint8Array ? { bytes: body } : { json: body } }),
    ...extras,
  });
}

/** A list: its answer says where its next page begins. */
export type ListRoute = Address<{
  query: { limit?: number; cursor?: string };
  body: undefined;
  answer: { next_cursor: string | null };
}>;

/** The rows of a page; `items` is the route's. */
export const rowsOf = <R extends ListRoute>(items: string | undefined, page: AnswerOf<R>): RowOf<R>[] =>
  (page as Record<string, unknown>)[items ?? ""] as RowOf<R>[];

/** All rows of a list of bounded length, read page by page. */
export async function getAll<R extends ListRoute>(route: R, query: QueryOf<R>): Promise<RowOf<R>[]> {
  const rows: RowOf<R>[] = [];
  let cursor: string | undefined;
  do {
    const page = await get(route, { ...query, limit: 200, cursor });
    rows.push(...rowsOf<R>(route.items, page));
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return rows;
}

/** A route that can be followed as an event stream. */
export type FollowRoute = Address<{ query: { follow?: "0" | "1" }; body: undefined; answer: unknown }>;

export const follow = <R extends FollowRoute>(
  { path }: R,
  query: QueryOf<R>,
  options: FollowOptions,
): AsyncGenerator<StreamEvent> => client.follow(path, { ...(query as Parameters), follow: 1 }, options);

/** Appends to the input of a process. `begin` gives the bytes of input so far. */
export const openInput = <R extends Address<{ query: object; body: Uint8Array; answer: unknown }>>(
  { path }: R,
  query: QueryOf<R>,
  begin: () => Promise<number>,
): InputWriter => client.openInput(path, query as Parameters, begin);

/** The address that the browser itself goes to. */
export function hrefOf<R extends Address>({ path }: R, query: QueryOf<R>): string {
  const search = new URLSearchParams(query as Record<string, string>).toString();
  return search === "" ? path : `${path}?${search}`;
}
