import {
  decodeId,
  encodeId,
  LIMITS,
  type FileEntry,
  type FileList,
  type VersionDiff,
  type WrittenFile,
  type Uuid,
} from "@keelson/contract";
import {
  checkPath,
  childrenOf,
  diffTrees,
  EMPTY_TREE,
  findEntry,
  nameOf,
  readContent,
  type Tree,
} from "@keelson/workspace-tree";
import { blobSource } from "../../../core/blobs/store-blob.ts";
import { requireVersion } from "../../../core/versions/require-version.ts";
import type { VersionRow } from "../../../core/versions/version-reads.ts";
import {
  continueIn,
  findDiffBase,
  readVersion,
  type FileSource,
  type WorkspacePlace,
} from "../../../core/workspaces/read-version.ts";
import { noFile, requireFile } from "../../../core/workspaces/require-file.ts";
import { removeFile, writeFile } from "../../../core/workspaces/write-file.ts";
import { DomainError, invalidRequest } from "../../../domain-error.ts";
import type { ServerContext } from "../../../server-context.ts";
import { decodeTextCursor, encodeTextCursor, pageLimit } from "../../edge/page.ts";
import { bytesOf } from "../../edge/raw-body.ts";
import type { Reply, RequestFacts } from "../../edge/route.ts";
import { contentReply, tagOf } from "./content-reply.ts";
import { isTagList, namesTag } from "./file-range.ts";
import { rootEntry, toDiffEntry, toFileEntry } from "./wire.ts";

/** Files of a workspace. They read versions, never a machine: no agent is needed. */

export type SourceQuery = { source?: "current" | "version" | "live"; version_id?: string };

const idOf = (text: string | undefined): Uuid<"wsv"> | null | undefined =>
  text === undefined ? undefined : decodeId("wsv", text);

const sourceOf = ({ source, version_id: versionId }: SourceQuery): FileSource => ({
  ...(source === undefined ? {} : { source }),
  ...(versionId === undefined ? {} : { versionId: idOf(versionId) ?? null }),
});

const loadTree = async (
  server: ServerContext,
  { environmentId, manifestDigest }: VersionRow,
): Promise<Tree> => (await server.trees.load(environmentId, manifestDigest.toString("hex"))).tree;

export async function listFiles(
  server: ServerContext,
  place: WorkspacePlace,
  query: SourceQuery & { path?: string; limit?: number; cursor?: string },
): Promise<Reply> {
  const { path = "" } = query;
  checkPath(path);
  const list = `files ${place.workspaceId} ${path}`;
  // A list goes on in the version it began with, whatever is committed meanwhile.
  const cursor = decodeTextCursor<"wsv">(list, place.environmentId, query.cursor);
  const version =
    cursor === null
      ? await readVersion(server.db, place, sourceOf(query))
      : await continueIn(server.db, place, sourceOf(query), cursor.key);
  const tree = await loadTree(server, version);
  if (path !== "" && findEntry(tree, path) === null) throw noFile(path);
  const limit = pageLimit(query.limit, LIMITS.workspaceFilesDefault);
  const children = childrenOf(tree, path, cursor?.text ?? null, limit + 1);
  const page = children.slice(0, limit);
  const last = page.at(-1);
  const body: FileList = {
    files: page.map(toFileEntry),
    version_id: encodeId("wsv", version.id),
    next_cursor:
      children.length > limit && last !== undefined
        ? encodeTextCursor(list, place.environmentId, version.id, nameOf(last.path))
        : null,
  };
  return { status: 200, body };
}

export async function statFile(
  server: ServerContext,
  place: WorkspacePlace,
  query: SourceQuery & { path?: string },
): Promise<Reply> {
  const { path = "" } = query;
  checkPath(path);
  const version = await readVersion(server.db, place, sourceOf(query));
  if (path === "") return { status: 200, body: rootEntry(version.createdAt) satisfies FileEntry };
  const entry = findEntry(await loadTree(server, version), path);
  if (entry === null) throw noFile(path);
  return { status: 200, body: toFileEntry(entry) };
}

export async function readFile(
  server: ServerContext,
  place: WorkspacePlace,
  query: SourceQuery & { path: string },
  request: RequestFacts,
): Promise<Reply> {
  checkPath(query.path);
  const version = await readVersion(server.db, place, sourceOf(query));
  const file = requireFile(await loadTree(server, version), query.path);
  const content = {
    digest: file.digest,
    sizeBytes: file.size,
    name: nameOf(file.path),
    modifiedAt: file.modifiedAt,
    contentType: "application/octet-stream",
    read: (start: number, end: number) =>
      begun(readContent(file, blobSource(server, place.environmentId), start, end)),
  };
  return contentReply(content, request);
}

/** The first bytes are read before the answer begins, so that what is damaged is an error and not a broken file. */
async function begun(content: AsyncGenerator<Buffer>): Promise<AsyncIterable<Buffer>> {
  const first = await content.next();
  return (async function* () {
    if (first.done === true) return;
    yield first.value;
    yield* content;
  })();
}

/** @throws DomainError `precondition_failed` when the file is not as the caller last saw it. */
function checkPreconditions(tree: Tree, path: string, request: RequestFacts): void {
  const entry = findEntry(tree, path);
  const tag = entry?.kind === "file" ? tagOf(entry) : entry === null ? null : '""';
  const match = request.header("if-match");
  const none = request.header("if-none-match");
  if (match !== null && !isTagList(match))
    throw invalidRequest([
      {
        path: "If-Match",
        message: 'must be the ETag of the file with its quotation marks, such as "3f1…", or *',
      },
    ]);
  if (match !== null && !namesTag(match, tag)) {
    throw new DomainError(
      "precondition_failed",
      tag === null
        ? "The file does not exist."
        : "The file has changed since. Read it again, then repeat the change.",
      { etag: tag },
    );
  }
  if (none !== null && namesTag(none, tag))
    throw new DomainError("precondition_failed", "The file already exists.", { etag: tag });
}

export async function writeReply(
  server: ServerContext,
  place: WorkspacePlace,
  { path, mode }: { path: string; mode?: string },
  body: unknown,
  request: RequestFacts,
): Promise<Reply> {
  checkPath(path);
  const content = { path, mode: mode === undefined ? null : Number.parseInt(mode, 8), bytes: bytesOf(body) };
  const { version, created, digest, entry } = await writeFile(server, place, content, (tree) =>
    checkPreconditions(tree, path, request),
  );
  const written: WrittenFile = {
    version_id: encodeId("wsv", version.id),
    file: entry === null ? null : toFileEntry(entry),
  };
  return { status: created ? 201 : 200, body: written, headers: { etag: `"${digest}"` } };
}

export async function removeReply(
  server: ServerContext,
  place: WorkspacePlace,
  { path }: { path: string },
  request: RequestFacts,
): Promise<Reply> {
  checkPath(path);
  const { id } = await removeFile(server, place, path, (tree) => checkPreconditions(tree, path, request));
  return { status: 200, body: { version_id: encodeId("wsv", id), file: null } satisfies WrittenFile };
}

/** What changed from one version to another; the base is by default what the version was made from. */
export async function diffVersion(
  server: ServerContext,
  place: WorkspacePlace,
  versionId: Uuid<"wsv">,
  query: { base?: string; limit?: number; cursor?: string },
): Promise<Reply> {
  const { environmentId, workspaceId } = place;
  const version = await requireVersion(server.db, place, workspaceId, versionId);
  const base = await findDiffBase(server.db, environmentId, version, idOf(query.base));
  const list = `diff ${version.id} ${base?.id ?? ""}`;
  const cursor = decodeTextCursor<"wsv">(list, environmentId, query.cursor);
  const changes = diffTrees(
    base === null ? EMPTY_TREE : await loadTree(server, base),
    await loadTree(server, version),
  );
  const limit = pageLimit(query.limit, LIMITS.workspaceFilesDefault);
  const from = cursor === null ? 0 : changes.findIndex(({ path }) => path === cursor.text) + 1;
  const page = changes.slice(from, from + limit);
  const last = page.at(-1);
  const body: VersionDiff = {
    changes: page.map(toDiffEntry),
    base_version_id: base === null ? null : encodeId("wsv", base.id),
    version_id: encodeId("wsv", version.id),
    next_cursor:
      from + limit < changes.length && last !== undefined
        ? encodeTextCursor(list, environmentId, version.id, last.path)
        : null,
  };
  return { status: 200, body };
}
