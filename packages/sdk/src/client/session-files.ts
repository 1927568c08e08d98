import { callOptions, type CallOptions, type RequestOptions } from "./exchange.ts";
import { listOf } from "./fetch-page.ts";
import type { PagedList, PageQuery } from "./paged-list.ts";
import { responseError } from "./read-response.ts";
import type { SessionFile } from "./resources.ts";
import { sessionPath, type SessionTarget } from "./session-path.ts";
import { UsageError } from "../keelson-error.ts";
import type { Transport } from "./transport.ts";
import { sessionFileShape } from "./wire-shapes.ts";

/** What can be uploaded. A text is sent as UTF-8, and a stream is read to its end before it is sent. */
export type UploadContent = Uint8Array | ArrayBuffer | Blob | ReadableStream<Uint8Array> | string;

/** Options of uploading a file. */
export type FileUploadOptions = CallOptions & {
  /** The name of the file, without a folder. Default: that of a `File`, else none. */
  name?: string;
  /** Such as `image/png`. Default: that of a `Blob`, else `application/octet-stream`. */
  mediaType?: string;
};

/** `client.sessions.files`: pictures and documents that messages of a session refer to. They are kept as long as the session. */
export type SessionFilesApi = {
  /**
   * Uploads a file of up to 64 MiB. The same content with the same name and media type is the same file, so an upload can be repeated.
   * Rejects with a ConflictError `session_closed` when the session has ended.
   *
   * @example
   * ```ts
   * const { id } = await client.sessions.files.upload("sess_01k…", "a,b\n1,2\n", { name: "table.csv", mediaType: "text/csv" });
   * await client.sessions.send("sess_01k…", { text: "Here is my table", file: id });
   * ```
   */
  upload(session: SessionTarget, content: UploadContent, options?: FileUploadOptions): Promise<SessionFile>;
  /**
   * Its files, newest first.
   *
   * @example
   * ```ts
   * for await (const file of client.sessions.files.list("sess_01k…")) console.log(file.name, file.sizeBytes);
   * ```
   */
  list(session: SessionTarget, query?: PageQuery, options?: RequestOptions): PagedList<SessionFile>;
  /**
   * One file: its name, media type, size and SHA-256.
   *
   * @example
   * ```ts
   * const { mediaType } = await client.sessions.files.get("sess_01k…", "file_01k…");
   * ```
   */
  get(session: SessionTarget, fileId: string, options?: RequestOptions): Promise<SessionFile>;
  /**
   * The content of a file in memory.
   *
   * @example
   * ```ts
   * const bytes = await client.sessions.files.read("sess_01k…", "file_01k…");
   * ```
   */
  read(session: SessionTarget, fileId: string, options?: RequestOptions): Promise<Uint8Array>;
  /**
   * The content of a file as it comes. The stream fails when the connection is lost: the call is not repeated. `requestTimeout` is for the
   * beginning of the answer alone.
   *
   * @example
   * ```ts
   * const content = await client.sessions.files.stream("sess_01k…", "file_01k…");
   * for await (const bytes of content) process.stdout.write(bytes);
   * ```
   */
  stream(
    session: SessionTarget,
    fileId: string,
    options?: Pick<RequestOptions, "signal">,
  ): Promise<ReadableStream<Uint8Array>>;
};

/** The family of routes that the caller's credential is for. */
type Family = "/api" | "/api/v1";

/** An upload of many megabytes may take long. */
const UPLOAD_TIMEOUT_MS = 120_000;

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const { subtle } = globalThis.crypto as { subtle?: typeof globalThis.crypto.subtle };
  if (subtle === undefined)
    throw new UsageError("A page can upload files only when it was loaded by https or from localhost");
  const digest = await subtle.digest("SHA-256", bytes);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** What a `Blob` says of itself, a `File` also its name. */
const factsOf = (content: UploadContent): { name?: string; type?: string } =>
  content instanceof Blob ? content : {};

export async function uploadFile(
  transport: Transport,
  family: Family,
  session: SessionTarget,
  content: UploadContent,
  options: FileUploadOptions,
): Promise<SessionFile> {
  const facts = factsOf(content);
  const { name = facts.name, mediaType = facts.type } = options;
  // The digest is in the path: all of the content is there before the request begins.
  const bytes = new Uint8Array(await new Response(content as RequestInit["body"] & {}).arrayBuffer());
  return transport.ask(sessionFileShape, {
    method: "PUT",
    path: sessionPath(family, session, `/files/${await sha256(bytes)}`, { name: name || undefined }),
    body: { bytes },
    headers: { "content-type": mediaType || "application/octet-stream" },
    requestTimeout: UPLOAD_TIMEOUT_MS,
    ...callOptions(options),
  });
}

const filePath = (family: Family, session: SessionTarget, fileId: string, rest = ""): string =>
  sessionPath(family, session, `/files/${encodeURIComponent(fileId)}${rest}`);

/** Refusals are told before the content begins. */
async function openContent(
  { reach, fetch, renewable, config }: Transport,
  path: string,
  signal: AbortSignal | undefined,
): Promise<ReadableStream<Uint8Array>> {
  const open = async (renew: boolean): Promise<Response> => {
    const { url, headers } = await reach(renew);
    return fetch(url + path, {
      headers: { ...headers, accept: "*/*" },
      ...(signal !== undefined && { signal }),
    });
  };
  let response = await open(false);
  if (response.status === 401 && renewable) {
    await response.body?.cancel();
    response = await open(true);
  }
  const { status, headers, body } = response;
  if (status < 400) return body ?? new Blob([]).stream();
  const text = await response.text();
  throw responseError(
    { status, header: (name) => headers.get(name), text: () => text },
    false,
    config.wireObjects,
  );
}

export const createSessionFilesApi = (transport: Transport, family: Family): SessionFilesApi => ({
  upload: (session, content, options = {}) => uploadFile(transport, family, session, content, options),
  list: (session, query = {}, options = {}) =>
    listOf(transport, sessionFileShape, sessionPath(family, session, "/files"), "files", query, options),
  get: (session, fileId, options = {}) =>
    transport.ask(sessionFileShape, { method: "GET", path: filePath(family, session, fileId), ...options }),
  read: (session, fileId, options = {}) =>
    transport.requestBytes({
      method: "GET",
      path: filePath(family, session, fileId, "/content"),
      headers: { accept: "*/*" },
      ...options,
    }),
  stream: (session, fileId, { signal } = {}) =>
    openContent(transport, filePath(family, session, fileId, "/content"), signal),
});

/** `session.files` of a handle: as `client.sessions.files`, of its session. */
export type HandleFiles = {
  /** Uploads a file of up to 64 MiB. */
  upload(content: UploadContent, options?: FileUploadOptions): Promise<SessionFile>;
  /** Its files, newest first. */
  list(query?: PageQuery, options?: RequestOptions): PagedList<SessionFile>;
  /** One file: its name, media type, size and SHA-256. */
  get(fileId: string, options?: RequestOptions): Promise<SessionFile>;
  /** The content of a file in memory. */
  read(fileId: string, options?: RequestOptions): Promise<Uint8Array>;
  /** The content of a file as it comes. */
  stream(fileId: string, options?: Pick<RequestOptions, "signal">): Promise<ReadableStream<Uint8Array>>;
};
