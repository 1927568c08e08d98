import { LIMITS, ListSessionFiles, SessionFile, UploadSessionFile, type Uuid } from "@keelson/contract";
import { findSessionFile, listSessionFiles } from "../../../core/sessions/session-file-reads.ts";
import { mediaTypeOf } from "../../../core/sessions/session-file.ts";
import { storeFile } from "../../../core/sessions/store-file.ts";
import type { Queryable } from "../../../db/queryable.ts";
import { notFound } from "../../../domain-error.ts";
import { ANY_MEDIA_TYPE } from "../../edge/any-body.ts";
import { listRoute } from "../../edge/list-route.ts";
import { Id, Text } from "../../edge/params.ts";
import { bytesOf } from "../../edge/raw-body.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import { requireSession } from "./describe-session.ts";
import { fileContentReply, toSessionFile } from "./file-wire.ts";
import { NAMINGS, queryOf, type Naming } from "./naming.ts";

/** Files of a session, for each way to name the session. */

const tag = "Sessions";
const read = { kind: "environment", permission: "sessions.read" } as const;

/** Of a route that is asked about one file. The path of an upload has the file's digest in the same place. */
const fileParams = ({ params }: Naming) => ({ ...params, file: Id("file") });
const fileOf = (params: unknown): Uuid<"file"> => (params as { file: Uuid<"file"> }).file;

export const UPLOAD_BODY = {
  bodyLimitBytes: LIMITS.sessionFileBytes,
  mediaType: ANY_MEDIA_TYPE,
  isStream: true,
} as const;

export const UPLOAD_RESPONSES = {
  201: { description: "The session has the file now.", schema: SessionFile },
  200: { description: "The session had the same file already.", schema: SessionFile },
};

/** A picture is no text that a document could show. */
export const EXAMPLE_BYTES = "…";

/** Of a media type that only the file knows. */
export const CONTENT_RESPONSES = {
  200: { description: "The file.", mediaType: ANY_MEDIA_TYPE },
  206: { description: "The requested range.", mediaType: ANY_MEDIA_TYPE },
  304: { description: "The caller has it already." },
};

const uploadRoute = (naming: Naming): RouteDefinition =>
  route({
    in: ["v1", "api"],
    method: "PUT",
    path: `${naming.item}/files/:file`,
    name: naming.name("uploadSessionFile"),
    summary: "Upload a file to a session",
    description:
      "The body is the file, at most 64 MiB, and the path has its SHA-256 in 64 lower-case hexadecimal digits. `Content-Type` is its media type, " +
      "`application/octet-stream` when it is absent. The digest is verified: other bytes are 400 `invalid_request`, and nothing of them is kept. The same " +
      "bytes with the same name and media type are the same file, and answered with 200. Files are kept as long as the session. A session that has " +
      `ended takes no more, except from its own run that still finishes: 409 \`session_closed\`.${naming.note}`,
    tag,
    access: { kind: "environment", permission: "sessions.write" },
    params: { ...naming.params, file: Text() },
    query: queryOf(naming, UploadSessionFile.properties),
    rawBody: UPLOAD_BODY,
    responses: UPLOAD_RESPONSES,
    examples: { request: EXAMPLE_BYTES },
    refusals: [404],
    handle: async ({ server, scope: { environmentId, caller }, params, query, body, request }) => {
      const { file: digest } = params as { file: string };
      const { name = null } = query as UploadSessionFile;
      const mediaType = mediaTypeOf(request.contentType);
      const sessionId = await naming.idOf(server.db, { environmentId }, { params, query });
      await server.storageQuota.admit(environmentId);
      const runId = caller.kind === "run" ? caller.id : null;
      const upload = { digest, name, mediaType, bytes: bytesOf(body), runId };
      const { file, created } = await storeFile(server, { environmentId, sessionId }, upload);
      server.storageQuota.noteStored(environmentId, file.sizeBytes);
      return { status: created ? 201 : 200, body: toSessionFile(file) };
    },
  });

const listFilesRoute = (naming: Naming): RouteDefinition =>
  listRoute({
    in: ["v1", "api"],
    tag,
    access: read,
    path: `${naming.item}/files`,
    name: naming.name("listSessionFiles"),
    summary: "List a session's files",
    description: `Newest first, also of a session that has ended.${naming.note}`,
    params: naming.params,
    items: "files",
    resource: SessionFile,
    query: queryOf(naming, ListSessionFiles.properties),
    within: async ({ server, scope, params, query }) =>
      (await requireSession(server.db, scope, await naming.idOf(server.db, scope, { params, query }))).id,
    read: ({ server, scope: { environmentId } }, { within: sessionId, after, limit }) =>
      listSessionFiles(server.db, { environmentId, sessionId }, after, limit),
    toWire: toSessionFile,
  });

async function requireFile(
  db: Queryable,
  naming: Naming,
  { environmentId }: { environmentId: Uuid<"env"> },
  named: { params: unknown; query: unknown },
) {
  const sessionId = await naming.idOf(db, { environmentId }, named);
  const file = await findSessionFile(db, { environmentId, sessionId }, fileOf(named.params));
  if (file === null) throw notFound();
  return file;
}

const getRoute = (naming: Naming): RouteDefinition =>
  route({
    in: ["v1", "api"],
    method: "GET",
    path: `${naming.item}/files/:file`,
    name: naming.name("getSessionFile"),
    summary: "Get a file of a session",
    description: `What is known of the file with this id. Its bytes are at \`content\`.${naming.note}`,
    tag,
    access: read,
    params: fileParams(naming),
    query: queryOf(naming),
    responses: { 200: { description: "The file.", schema: SessionFile } },
    handle: async ({ server, scope, params, query }) => ({
      status: 200,
      body: toSessionFile(await requireFile(server.db, naming, scope, { params, query })),
    }),
  });

const contentRoute = (naming: Naming): RouteDefinition =>
  route({
    in: ["v1", "api"],
    method: "GET",
    path: `${naming.item}/files/:file/content`,
    name: naming.name("readSessionFile"),
    summary: "Download a file of a session",
    description:
      "The raw bytes with the media type of the upload. The digest is the `ETag`; `Range` with one range of bytes, `If-Range` and `If-None-Match` work " +
      `as HTTP has them. The answer is an attachment in a sandbox: a browser does not run it as a page of this server.${naming.note}`,
    tag,
    access: read,
    params: fileParams(naming),
    query: queryOf(naming),
    responses: CONTENT_RESPONSES,
    examples: { response: EXAMPLE_BYTES },
    refusals: [416],
    handle: async ({ server, scope, params, query, request }) =>
      fileContentReply(server, await requireFile(server.db, naming, scope, { params, query }), request),
  });

export const sessionFileRoutes: RouteDefinition[] = [
  uploadRoute,
  listFilesRoute,
  getRoute,
  contentRoute,
].flatMap((make) => NAMINGS.map(make));
