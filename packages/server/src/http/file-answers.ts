import {
  decodeId,
  LIMITS,
  type FileEntry,
  type FileList,
  type VersionDiff,
  type WrittenFile,
} from "@keelson/contract";
import { encodeId } from "@keelson/contract";
import {
  checkPath,
  childrenOf,
  diffTrees,
  EMPTY_TREE,
  findEntry,
  nameOf,
  putFile,
  readContent,
  removeEntry,
  storeContent,
  type FileEntry as TreeFile,
  type Tree,
} from "@keelson/workspace-tree";
import { blobSink, blobSource } from "../core/blobs/store-blob.ts";
import { wakeKeys } from "../core/feeds/wakes.ts";
import { changeFiles } from "../core/workspaces/change-files.ts";
import { requireIdle, requireUsable, requireWorkspace } from "../core/workspaces/require-workspace.ts";
import { findCurrentVersion, findVersion, type VersionRow } from "../core/versions/version-reads.ts";
import { DomainError, invalidRequest, notFound } from "../domain-error.ts";
import type { ServerContext } from "../server-context.ts";
import { decodeTextCursor, encodeTextCursor, pageLimit } from "./page.ts";
import { namesTag, parseRange } from "./file-range.ts";
import type { EnvironmentScope, Reply, RequestFacts } from "./route.ts";
import { rootEntry, toDiffEntry, toFileEntry } from "./wire/file-entry.ts";
import { requireVersion } from "./workspace-answers.ts";

/** What the file routes answer. They read versions, never a machine: no agent is needed. */

export type SourceQuery = { source?: "current" | "version" | "live"; version_id?: string };

/** Which version a read is of, by the rules of `source`. */
async function readVersion(
  server: ServerContext,
  scope: EnvironmentScope,
  workspaceId: string,
  { source = "current", version_id: versionText }: SourceQuery,
): Promise<VersionRow> {
  if (source === "current" && versionText === undefined) {
    const current = await findCurrentVersion(server.db, scope.environmentId, workspaceId);
    if (current === null) throw notFound();
    return current;
  }
  await requireWorkspace(server.db, scope.environmentId, workspaceId);
  if (source === "live") {
    throw new DomainError(
      "not_implemented",
      "Reading the live files is reserved. Read the current version, or run a command in the workspace.",
    );
  }
  if (source === "version") {
    if (versionText === undefined)
      throw invalidRequest([{ path: "version_id", message: "is required with source=version" }]);
    return requireVersion(server, scope, workspaceId, versionText);
  }
  throw invalidRequest([{ path: "version_id", message: "may only be sent with source=version" }]);
}

const loadTree = async (
  server: ServerContext,
  { environmentId, manifestDigest }: VersionRow,
): Promise<Tree> => (await server.trees.load(environmentId, manifestDigest.toString("hex"))).tree;

const noFile = (path: string): DomainError =>
  new DomainError("not_found", `There is no ${JSON.stringify(path)} in this version.`, { path });

export async function answerFileList(
  server: ServerContext,
  scope: EnvironmentScope,
  workspaceId: string,
  query: SourceQuery & { path?: string; limit?: number; cursor?: string },
): Promise<Reply> {
  const { path = "" } = query;
  checkPath(path);
  const list = `files ${workspaceId} ${path}`;
  // A list goes on in the version it began with, whatever is committed meanwhile.
  const cursor = decodeTextCursor(list, scope.environmentId, query.cursor);
  const version =
    cursor === null
      ? await readVersion(server, scope, workspaceId, query)
      : await continueIn(server, scope, workspaceId, query, cursor.key);
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
        ? encodeTextCursor(list, scope.environmentId, version.id, nameOf(last.path))
        : null,
  };
  return { status: 200, body };
}

async function continueIn(
  server: ServerContext,
  scope: EnvironmentScope,
  workspaceId: string,
  query: SourceQuery,
  versionId: string,
): Promise<VersionRow> {
  // The rules of `source` hold for every page.
  const asked = await readVersion(server, scope, workspaceId, query);
  if (query.source === "version" || asked.id === versionId) return asked;
  const version = await findVersion(server.db, scope.environmentId, versionId);
  return version?.workspaceId === workspaceId ? version : asked;
}

export async function answerFileStat(
  server: ServerContext,
  scope: EnvironmentScope,
  workspaceId: string,
  query: SourceQuery & { path?: string },
): Promise<Reply> {
  const { path = "" } = query;
  checkPath(path);
  const version = await readVersion(server, scope, workspaceId, query);
  if (path === "") return { status: 200, body: rootEntry(version.createdAt) satisfies FileEntry };
  const entry = findEntry(await loadTree(server, version), path);
  if (entry === null) throw noFile(path);
  return { status: 200, body: toFileEntry(entry) };
}

const tagOf = (file: TreeFile): string => `"${file.digest}"`;

/** The file of a path; what is no file has no content. */
function requireFile(tree: Tree, path: string): TreeFile {
  const entry = path === "" ? null : findEntry(tree, path);
  if (entry === null && path !== "") throw noFile(path);
  if (entry?.kind === "file") return entry;
  const what =
    entry?.kind === "symlink"
      ? "a symbolic link, which is not followed; its target is in files/stat"
      : "a directory";
  throw invalidRequest([{ path: "path", message: `${JSON.stringify(path)} is ${what}` }]);
}

export async function answerFileContent(
  server: ServerContext,
  scope: EnvironmentScope,
  workspaceId: string,
  query: SourceQuery & { path: string },
  request: RequestFacts,
): Promise<Reply> {
  checkPath(query.path);
  const version = await readVersion(server, scope, workspaceId, query);
  const file = requireFile(await loadTree(server, version), query.path);
  const tag = tagOf(file);
  const fixed = {
    etag: tag,
    "accept-ranges": "bytes",
    "last-modified": new Date(file.modifiedAt).toUTCString(),
  };
  const none = request.header("if-none-match");
  if (none !== null && namesTag(none.replaceAll("W/", ""), tag))
    return { status: 304, body: undefined, headers: fixed };
  const ifRange = request.header("if-range");
  const range = ifRange === null || ifRange === tag ? parseRange(request.header("range"), file.size) : null;
  const { start, end } = range ?? { start: 0, end: file.size };
  return {
    status: range === null ? 200 : 206,
    bytes: await begun(readContent(file, blobSource(server, scope.environmentId), start, end)),
    contentType: "application/octet-stream",
    headers: {
      ...fixed,
      "content-length": String(end - start),
      "content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(nameOf(file.path)).replaceAll("'", "%27")}`,
      ...(range === null ? {} : { "content-range": `bytes ${start}-${end - 1}/${file.size}` }),
    },
  };
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
  if (match !== null && !namesTag(match, tag)) {
    throw new DomainError(
      "precondition_failed",
      tag === null
        ? "There is no such file now."
        : "The file has changed since. Read it again, then repeat the change.",
      { etag: tag },
    );
  }
  if (none !== null && namesTag(none, tag))
    throw new DomainError("precondition_failed", "There is such a file already.", { etag: tag });
}

function bytesOf(body: unknown): AsyncIterable<Uint8Array> {
  if (body === undefined || body === null) return (async function* () {})();
  return body as AsyncIterable<Uint8Array>;
}

export async function answerFileWrite(
  server: ServerContext,
  scope: EnvironmentScope,
  workspaceId: string,
  query: { path: string; mode?: string },
  body: unknown,
  request: RequestFacts,
): Promise<Reply> {
  const { environmentId } = scope;
  checkPath(query.path);
  // What would be refused is refused before its bytes are stored.
  const workspace = await requireWorkspace(server.db, environmentId, workspaceId);
  requireUsable(workspace);
  requireIdle(workspace);
  await server.storageQuota.admit(environmentId);
  const stored = await storeContent(
    bytesOf(body),
    blobSink(server, environmentId),
    LIMITS.workspaceFileBytes,
  );
  const mode = query.mode === undefined ? {} : { mode: Number.parseInt(query.mode, 8) };
  const file = { path: query.path, modifiedAt: server.clock(), ...stored, ...mode };
  const { version, created } = await changeFiles(server, environmentId, workspaceId, async (tree) => {
    checkPreconditions(tree, query.path, request);
    return putFile(tree, file);
  });
  server.storageQuota.noteStored(environmentId, stored.size);
  if (created) server.wakes.wake(wakeKeys.workspace(workspaceId));
  const written = findEntry(await loadTree(server, version), query.path);
  const answer: WrittenFile = {
    version_id: encodeId("wsv", version.id),
    file: written === null ? null : toFileEntry(written),
  };
  return { status: created ? 201 : 200, body: answer, headers: { etag: `"${stored.digest}"` } };
}

export async function answerFileRemoval(
  server: ServerContext,
  scope: EnvironmentScope,
  workspaceId: string,
  query: { path: string },
  request: RequestFacts,
): Promise<Reply> {
  checkPath(query.path);
  const { version } = await changeFiles(server, scope.environmentId, workspaceId, async (tree) => {
    checkPreconditions(tree, query.path, request);
    const without = removeEntry(tree, query.path);
    if (without === null) throw noFile(query.path);
    return without;
  });
  server.wakes.wake(wakeKeys.workspace(workspaceId));
  return { status: 200, body: { version_id: encodeId("wsv", version.id), file: null } satisfies WrittenFile };
}

/** What changed from one version to another; the base is by default what the version was made from. */
export async function answerDiff(
  server: ServerContext,
  scope: EnvironmentScope,
  workspaceId: string,
  versionText: string,
  query: { base?: string; limit?: number; cursor?: string },
): Promise<Reply> {
  const { environmentId } = scope;
  const version = await requireVersion(server, scope, workspaceId, versionText);
  const base = await baseOf(server, scope, version, query.base);
  const list = `diff ${version.id} ${base?.id ?? ""}`;
  const cursor = decodeTextCursor(list, environmentId, query.cursor);
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

async function baseOf(
  server: ServerContext,
  scope: EnvironmentScope,
  version: VersionRow,
  text: string | undefined,
): Promise<VersionRow | null> {
  if (text === undefined && version.parentVersionId === null) return null;
  const id = text === undefined ? version.parentVersionId : decodeId("wsv", text);
  const base = id === null ? null : await findVersion(server.db, scope.environmentId, id);
  if (base !== null) return base;
  throw invalidRequest([
    {
      path: "base",
      message:
        text === undefined
          ? "the version that this one was made from has been deleted; name another base"
          : "there is no such version in this environment",
    },
  ]);
}
