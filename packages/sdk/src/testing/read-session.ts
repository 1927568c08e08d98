import type { StreamRecord } from "@keelson/contract";
import type { Harness } from "./harness.ts";
import type { KeptMessage, SessionStore } from "./test-session.ts";

const DEFAULT_LIMIT = 50;
const PATH = /^\/api\/sessions\/[^/]+\/(?:(messages)|(?:in|out)puts\/([^/]+))$/;

/** Answers what code reads of the session of the test, as the server's routes do. */
export function readSession({ session }: Harness, url: URL): Response {
  const [, messages, stream] = PATH.exec(url.pathname) ?? [];
  const query = url.searchParams;
  if (session === null)
    return Response.json({ error: { code: "not_found", message: "No session." } }, { status: 404 });
  if (messages !== undefined) return Response.json(listMessages(session, query));
  return Response.json(listRecords(session, decodeURIComponent(stream ?? ""), query));
}

/** Newest first. */
function listMessages({ messages }: SessionStore, query: URLSearchParams): object {
  const stream = query.get("stream");
  const limit = Number(query.get("limit") ?? DEFAULT_LIMIT);
  const from = Number(query.get("cursor") ?? 0);
  const rows = newestFirst(messages)
    .filter((message) => stream === null || message.stream === stream)
    .filter(({ status }) => query.get("status") === null || status === "open");
  const isMore = rows.length > from + limit;
  return { messages: rows.slice(from, from + limit), next_cursor: isMore ? String(from + limit) : null };
}

export const newestFirst = (messages: readonly KeptMessage[]): KeptMessage["wire"][] =>
  messages
    .map(({ wire }) => wire)
    .toReversed()
    .toSorted(
      (a, b) =>
        Date.parse(b.created_at) - Date.parse(a.created_at) ||
        (a.stream === b.stream ? b.first_sequence - a.first_sequence : 0),
    );

function listRecords({ streams, status }: SessionStore, name: string, query: URLSearchParams): object {
  const stream = streams.get(name);
  const after = Math.max(
    Number(query.get("cursor") ?? 0),
    query.get("received") === "false" ? (stream?.received ?? 0) : 0,
  );
  const correlationId = query.get("correlation_id");
  const matching = (stream?.records ?? [])
    .filter(({ sequence }) => sequence > after)
    .filter((record) => correlationId === null || record.correlation_id === correlationId);
  const records: StreamRecord[] = matching.slice(0, Number(query.get("limit") ?? DEFAULT_LIMIT));
  const last = records.at(-1)?.sequence ?? after;
  return {
    ...{ records, next_cursor: last === 0 ? null : String(last) },
    ended: status !== "open" && records.length === matching.length,
  };
}
