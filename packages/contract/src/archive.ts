import { LIMITS } from "./limits.ts";

/**
 * Bundle format 2: an archive. Its index names the files of a deployment by their paths and digests, and what a worker must
 * be to run them. The index and each of the files are stored and fetched by their SHA-256, so that a file that is stored is
 * neither uploaded nor fetched again. The digest of a bundle is that of the index.
 */
export type Archive = {
  format_version: 2;
  /** The path of the module whose export `keelson` is a `BundleModule`. */
  entry: string;
  /** Of the Node.js that the archive was made with: `24.21.0`. */
  node_version: string;
  /** Where its native code runs; null when it has none. */
  platform: Platform | null;
  files: ArchiveFile[];
};

export type ArchiveFile = {
  /** Relative to the archive's root, with `/` between names. */
  path: string;
  /** SHA-256 of the bytes, in lower-case hexadecimal. */
  digest: string;
  size_bytes: number;
  executable: boolean;
};

export type Platform = {
  /** As `process.platform` has it. */
  os: string;
  /** As `process.arch` has it. */
  arch: string;
  /** Null where there is only one. */
  libc: "glibc" | "musl" | null;
};

/** An index is not one of an archive. The message says what is wrong in it. */
export class ArchiveError extends Error {
  override readonly name = "ArchiveError";
}

const DIGEST = /^[0-9a-f]{64}$/;
const VERSION = /^[0-9]{1,5}\.[0-9]{1,5}\.[0-9]{1,5}$/;
const WORD = /^[a-z0-9_]{1,32}$/;
/** Besides what a file system takes for something else, what a terminal or a log would. */
// oxlint-disable-next-line no-control-regex
const UNSAFE = /[\u0000-\u001f\u007f\\]/;
const NAME_BYTES = 255;

const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

/** What keeps a path out of an archive; null for one that stays inside of the folder that the archive is laid out in. */
export function archivePathProblem(path: string): string | null {
  if (path === "") return "is empty";
  if (!path.isWellFormed() || UNSAFE.test(path)) return "has characters that a path must not have";
  if (path.startsWith("/") || /^[A-Za-z]:/.test(path)) return "is not relative";
  if (bytesOf(path) > LIMITS.archivePathBytes) return `is over ${LIMITS.archivePathBytes} bytes`;
  for (const name of path.split("/")) {
    if (name === "" || name === "." || name === "..") return "has a name that is empty, . or ..";
    if (bytesOf(name) > NAME_BYTES) return `has a name over ${NAME_BYTES} bytes`;
  }
  return null;
}

type Fields = Record<string, unknown>;

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function insist(holds: boolean, problem: string): asserts holds {
  if (!holds) throw new ArchiveError(`The index of the archive is not valid: ${problem}.`);
}

function insistOnly(value: Fields, known: readonly string[], where: string): void {
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  insist(unknown === undefined, `${where} has the unknown field ${JSON.stringify(unknown)}`);
}

function readFile(value: unknown, place: number): ArchiveFile {
  const where = `file ${place}`;
  insist(isObject(value), `${where} is not an object`);
  insistOnly(value, ["path", "digest", "size_bytes", "executable"], where);
  const { path, digest, size_bytes: size, executable } = value;
  insist(typeof path === "string", `${where} has no path`);
  const problem = archivePathProblem(path);
  insist(problem === null, `the path ${JSON.stringify(path.slice(0, 200))} ${problem}`);
  insist(typeof digest === "string" && DIGEST.test(digest), `${where} has no SHA-256`);
  insist(typeof size === "number" && Number.isSafeInteger(size) && size >= 0, `${where} has no size`);
  insist(size <= LIMITS.bundleBytes, `${path} has ${size} bytes; the limit is ${LIMITS.bundleBytes}`);
  insist(typeof executable === "boolean", `${where} does not say whether it is executable`);
  return { path, digest, size_bytes: size, executable };
}

function readPlatform(value: unknown): Platform | null {
  if (value === null) return null;
  insist(isObject(value), "the platform is not an object");
  insistOnly(value, ["os", "arch", "libc"], "the platform");
  const { os, arch, libc } = value;
  insist(typeof os === "string" && WORD.test(os), "the platform has no os");
  insist(typeof arch === "string" && WORD.test(arch), "the platform has no arch");
  insist(libc === null || libc === "glibc" || libc === "musl", "the libc is not glibc, musl or null");
  return { os, arch, libc };
}

/** No file is named twice, and none is where another one needs a folder. */
function insistDistinct(files: readonly ArchiveFile[]): void {
  const paths = new Set(files.map(({ path }) => path));
  insist(paths.size === files.length, "a path is there twice");
  for (const path of paths)
    for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1))
      insist(!paths.has(path.slice(0, end)), `${path.slice(0, end)} is a file and a folder`);
}

function parseJson(bytes: Uint8Array): unknown {
  insist(bytes.length <= LIMITS.archiveIndexBytes, `it is over ${LIMITS.archiveIndexBytes} bytes`);
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new ArchiveError("The index of the archive is not valid: it is not JSON in UTF-8.");
  }
}

/** Reads an index that somebody has sent. @throws ArchiveError */
export function parseArchive(bytes: Uint8Array): Archive {
  const value = parseJson(bytes);
  insist(isObject(value), "it is not an object");
  insistOnly(value, ["format_version", "entry", "node_version", "platform", "files"], "it");
  const { entry, files: listed, node_version: node } = value;
  insist(value["format_version"] === 2, "its format_version is not 2");
  insist(typeof node === "string" && VERSION.test(node), "it has no node_version");
  insist(Array.isArray(listed) && listed.length > 0, "it names no files");
  insist(
    listed.length <= LIMITS.archiveFiles,
    `it names ${listed.length} files; the limit is ${LIMITS.archiveFiles}`,
  );
  const files = listed.map(readFile);
  insistDistinct(files);
  const total = archiveBytes(files);
  insist(total <= LIMITS.archiveBytes, `its files have ${total} bytes; the limit is ${LIMITS.archiveBytes}`);
  insist(
    typeof entry === "string" && files.some(({ path }) => path === entry),
    "its entry is not one of its files",
  );
  return { format_version: 2, entry, node_version: node, platform: readPlatform(value["platform"]), files };
}

/** Of all files, each as often as it is there. */
export const archiveBytes = (files: readonly ArchiveFile[]): number =>
  files.reduce((sum, { size_bytes: size }) => sum + size, 0);

/** The index as it is stored: the same files give the same bytes. */
export function formatArchive({ entry, node_version, platform, files }: Archive): Uint8Array {
  const sorted = files
    .map(({ path, digest, size_bytes, executable }) => ({ path, digest, size_bytes, executable }))
    .toSorted((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  return new TextEncoder().encode(
    `${JSON.stringify({ format_version: 2, entry, node_version, platform, files: sorted })}\n`,
  );
}
