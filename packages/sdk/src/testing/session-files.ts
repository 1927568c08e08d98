import type { SessionFile } from "@keelson/contract";
import type { SessionStore } from "./test-session.ts";
import { newId } from "./new-id.ts";

/** A file of a session, as a server keeps it. */
export type KeptFile = { wire: SessionFile; bytes: Uint8Array<ArrayBuffer> };

/** `isOfTest`: the test uploads, and not the code of a run. */
export type Uploads = { now: () => string; isOfTest: boolean };

const DEFAULT_LIMIT = 50;
const PATH = /\/files(?:\/([^/]+)(\/content)?)?$/;

const refusal = (status: number, code: string, message: string): Response =>
  Response.json({ error: { code, message } }, { status });

/** Answers for files of the session of a test, as the server's routes do. */
export async function answerForFiles(
  session: SessionStore,
  url: URL,
  init: RequestInit | undefined,
  { now, isOfTest }: Uploads,
): Promise<Response> {
  const [, named, content] = PATH.exec(url.pathname) ?? [];
  if (named === undefined) return Response.json(listFiles(session, url.searchParams));
  if (init?.method === "PUT")
    return upload(session, named, url.searchParams.get("name"), init, { now, isOfTest });
  const file = session.files.find(({ wire }) => wire.id === decodeURIComponent(named));
  if (file === undefined) return refusal(404, "not_found", "Not found.");
  if (content === undefined) return Response.json(file.wire);
  return new Response(file.bytes, { headers: { "content-type": file.wire.media_type } });
}

async function upload(
  session: SessionStore,
  sha256: string,
  name: string | null,
  init: RequestInit,
  { now, isOfTest }: Uploads,
): Promise<Response> {
  const { status, id, files } = session;
  const media_type = new Headers(init.headers).get("content-type") ?? "application/octet-stream";
  const known = files.find(
    ({ wire }) => wire.sha256 === sha256 && wire.name === name && wire.media_type === media_type,
  );
  if (known !== undefined) return Response.json(known.wire);
  // A run that still finishes may upload.
  const isOver = session.isOver || (isOfTest && status !== "open");
  if (isOver) return refusal(409, "session_closed", `The session has ended as ${status}.`);
  const bytes = new Uint8Array(await new Response(init.body ?? null).arrayBuffer());
  const wire: SessionFile = {
    ...{ id: newId("file"), session_id: id, name, media_type },
    ...{ size_bytes: bytes.length, sha256, created_at: now() },
  };
  files.push({ wire, bytes });
  return Response.json(wire, { status: 201 });
}

/** Newest first. */
function listFiles({ files }: SessionStore, query: URLSearchParams): object {
  const limit = Number(query.get("limit") ?? DEFAULT_LIMIT);
  const from = Number(query.get("cursor") ?? 0);
  const rows = files.map(({ wire }) => wire).toReversed();
  const isMore = rows.length > from + limit;
  return { files: rows.slice(from, from + limit), next_cursor: isMore ? String(from + limit) : null };
}
