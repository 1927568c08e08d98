/**
 * Files of a session for web pages. An entry beside `@keelson/sdk/browser`, so that a page loads it only when it has files. It imports no module of
 * Node.js and no schema library.
 */
import type { PublicFilePermission } from "@keelson/contract/plain";
import type { SessionClientOptions } from "./browser.ts";
import { toPageConfig } from "./client/page-connection.ts";
import { tokenOf } from "./client/public-session.ts";
import { createSessionFilesApi, uploadFile, type HandleFiles } from "./client/session-files.ts";
import { createTransport, type Transport } from "./client/transport.ts";

export type { FileUploadOptions, HandleFiles, UploadContent } from "./client/session-files.ts";
export type { SessionFile } from "./client/resources.ts";

/**
 * The files of a session as a page sees them. It takes the same options as `createSessionClient` of `@keelson/sdk/browser`. Uploading needs a
 * token for `session.files.write`, and everything else a token for `session.files.read`; a token for `session.chat` allows both. A function that
 * gives tokens is called with an empty `stream`.
 *
 * Throws a UsageError for what is not a URL. Its methods reject as those of `createSessionClient` do. Show a file in an element of the page, such as
 * an image: what a stranger has uploaded must not be opened as a page of your origin.
 *
 * @example
 * ```ts
 * import { createSessionFilesClient } from "@keelson/sdk/browser/files";
 *
 * const token = async () => (await fetch("/keelson-token")).text();
 * const session = { externalId: "chat-4711" };
 * const files = createSessionFilesClient({ url: "https://keelson.example.com", session, token });
 * const { id } = await files.upload(new File(["a,b"], "table.csv", { type: "text/csv" }));
 * ```
 */
export function createSessionFilesClient({
  token,
  session,
  ...connection
}: SessionClientOptions): HandleFiles {
  const { url, ...config } = toPageConfig(connection);
  const connect = (permission: PublicFilePermission): Transport =>
    createTransport(config, {
      renewable: typeof token === "function",
      get: async (renew) => ({
        url,
        apiKey: await tokenOf(token, { permission, stream: "", correlationId: null, renew }),
      }),
    });
  const reading = createSessionFilesApi(connect("session.files.read"), "/api/v1");
  const writing = connect("session.files.write");
  return {
    upload: (content, options = {}) => uploadFile(writing, "/api/v1", session, content, options),
    list: (query = {}, options = {}) => reading.list(session, query, options),
    get: (fileId, options = {}) => reading.get(session, fileId, options),
    read: (fileId, options = {}) => reading.read(session, fileId, options),
    stream: (fileId, options = {}) => reading.stream(session, fileId, options),
  };
}
