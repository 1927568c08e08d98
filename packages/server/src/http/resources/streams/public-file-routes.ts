import { decodeId, ListSessionFiles, SessionFile, UploadSessionFile, type Uuid } from "@keelson/contract";
import { Type } from "typebox";
import { usePublicAccess } from "../../../core/public-access/use-public-access.ts";
import { listSessionFiles } from "../../../core/sessions/session-file-reads.ts";
import { mediaTypeOf } from "../../../core/sessions/session-file.ts";
import { ANY_ORIGIN } from "../../edge/cors.ts";
import { listRoute } from "../../edge/list-route.ts";
import { Text } from "../../edge/params.ts";
import { bytesOf } from "../../edge/raw-body.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import { coveredFiles, filePublicly, uploadPublicly } from "../public-access-tokens/use-files.ts";
import { CONTENT_RESPONSES, EXAMPLE_BYTES, UPLOAD_BODY, UPLOAD_RESPONSES } from "../sessions/file-routes.ts";
import { fileContentReply, toSessionFile } from "../sessions/file-wire.ts";
import { addressOf, PUBLIC_NAMINGS, type PublicNamed, type PublicNaming } from "./public-naming.ts";

/** Files of a session for browsers: what a page attaches to a message, and what it shows of one. */

const tag = "Streams";
const read = { kind: "public_access", permission: "session.files.read" } as const;
const strict = { additionalProperties: false };

const REFUSALS =
  " Another session or file than the token's is 403 `scope_mismatch` and counts as no use, as is a token for one correlation id, because files " +
  "have none. A token that is unknown, expired or spent is 401.";
const BY_TOKEN =
  "with a public access token for `session.files.read` or `session.chat`. It is a use of the token.";

const fileText = ({ params }: PublicNamed): string => (params as { file: string }).file;
/** An id that is none is refused as one of another session is. */
const fileOf = (named: PublicNamed): Uuid<"file"> | null => decodeId("file", fileText(named));

const uploadRoute = ({ item, suffix, params, query }: PublicNaming): RouteDefinition =>
  route({
    in: ["api-public"],
    method: "PUT",
    path: `/sessions/${item}/files/:file`,
    name: `publicUploadFile${suffix}`,
    summary: "Upload a file from a browser",
    description: `As uploading a file to a session, with a public access token for \`session.files.write\` or \`session.chat\`. A file that the session has already is no use of the token.${REFUSALS}`,
    tag,
    access: { kind: "public_access", permission: "session.files.write" },
    cors: ANY_ORIGIN,
    params: { ...params, file: Text() },
    query: Type.Object({ ...query, ...UploadSessionFile.properties }, strict),
    rawBody: UPLOAD_BODY,
    responses: UPLOAD_RESPONSES,
    examples: { request: EXAMPLE_BYTES },
    handle: async ({ server, scope, body, request, ...named }) => {
      const { name = null } = named.query;
      const facts = { digest: fileText(named), name, mediaType: mediaTypeOf(request.contentType) };
      const upload = { ...facts, bytes: bytesOf(body), runId: null };
      const { file, created } = await uploadPublicly(server, scope, addressOf(named), upload);
      return { status: created ? 201 : 200, body: toSessionFile(file) };
    },
  });

const listFilesRoute = ({ item, suffix, params, query }: PublicNaming): RouteDefinition =>
  listRoute({
    in: ["api-public"],
    tag,
    access: read,
    cors: ANY_ORIGIN,
    path: `/sessions/${item}/files`,
    name: `publicListFiles${suffix}`,
    summary: "List files from a browser",
    description: `As listing a session's files, ${BY_TOKEN}${REFUSALS}`,
    params,
    items: "files",
    resource: SessionFile,
    query: Type.Object({ ...query, ...ListSessionFiles.properties }, strict),
    within: async ({ server, scope, ...named }) =>
      (await coveredFiles(server, scope, "session.files.read", addressOf(named))).sessionId,
    read: ({ server, scope }, { within: sessionId, after, limit }) =>
      usePublicAccess(server.db, scope, () =>
        listSessionFiles(server.db, { environmentId: scope.environmentId, sessionId }, after, limit),
      ),
    toWire: toSessionFile,
  });

/** What reading one file and reading its bytes have alike. */
const ofFile = ({ item, params, query }: PublicNaming, below: "" | "/content") => ({
  in: ["api-public"] as const,
  method: "GET" as const,
  path: `/sessions/${item}/files/:file${below}` as const,
  tag,
  access: read,
  cors: ANY_ORIGIN as typeof ANY_ORIGIN,
  params: { ...params, file: Text() },
  query: Type.Object(query, strict),
});

const getRoute = (naming: PublicNaming): RouteDefinition =>
  route({
    ...ofFile(naming, ""),
    name: `publicGetFile${naming.suffix}`,
    summary: "Get a file from a browser",
    description: `As getting a file of a session, ${BY_TOKEN}${REFUSALS}`,
    responses: { 200: { description: "The file.", schema: SessionFile } },
    handle: async ({ server, scope, ...named }) => {
      const file = await filePublicly(server, scope, addressOf(named), fileOf(named));
      return usePublicAccess(server.db, scope, async () => ({ status: 200, body: toSessionFile(file) }));
    },
  });

const contentRoute = (naming: PublicNaming): RouteDefinition =>
  route({
    ...ofFile(naming, "/content"),
    name: `publicReadFile${naming.suffix}`,
    summary: "Download a file from a browser",
    description: `As downloading a file of a session, ${BY_TOKEN}${REFUSALS}`,
    responses: CONTENT_RESPONSES,
    examples: { response: EXAMPLE_BYTES },
    refusals: [416],
    handle: async ({ server, scope, request, ...named }) => {
      const file = await filePublicly(server, scope, addressOf(named), fileOf(named));
      return usePublicAccess(server.db, scope, () => fileContentReply(server, file, request));
    },
  });

export const publicFileRoutes: RouteDefinition[] = [
  uploadRoute,
  listFilesRoute,
  getRoute,
  contentRoute,
].flatMap((make) => PUBLIC_NAMINGS.map(make));
