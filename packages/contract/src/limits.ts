import { DURATION_PATTERN, WAIT_PATTERN } from "./durations.ts";
import { JSON_DEPTH, PROCESS_INPUT_BYTES } from "./page-limits.ts";
import { SECRET_NAME_PATTERN } from "./secrets.ts";

/** How tools begin that operate the installation; a task that is a tool may not. */
export const MCP_OPERATION_PREFIX = "keelson_";

/** Bounds of the wire. Bytes unless the name says otherwise. */
export const LIMITS = {
  bodyBytes: 1024 * 1024,
  /** A bundle of format 1, or one file of an archive. */
  bundleBytes: 64 * 1024 * 1024,
  /** An archive: its files, their bytes together, its index, and a path in it. */
  archiveFiles: 5000,
  archiveBytes: 512 * 1024 * 1024,
  archiveIndexBytes: 4 * 1024 * 1024,
  archivePathBytes: 1024,
  workerAppendBytes: 4 * 1024 * 1024,
  payloadBytes: 512 * 1024,
  outputBytes: 512 * 1024,
  /** Of what completes a token. A provider's callback may bring a whole body. */
  tokenDataBytes: 512 * 1024,
  metadataBytes: 16 * 1024,
  secretValueBytes: 64 * 1024,
  tags: 20,
  tagCharacters: 128,
  jsonDepth: JSON_DEPTH,
  idempotencyKeyBytes: 255,
  batchStarts: 500,
  /** Ids that one bulk action names. */
  bulkActionRuns: 500,
  /** Runs that the count of a bulk action is exact up to. */
  bulkActionCount: 10_000,
  bulkActionSample: 10,
  bulkReasonCharacters: 500,
  batchRecords: 500,
  /** Streams of each direction that one public access token is for. */
  chatStreams: 10,
  /** Streams that one connection follows. */
  followedStreams: 10,
  recordBytes: 256 * 1024,
  sessionStateBytes: 256 * 1024,
  /** One file of a session, its name, and its media type. */
  sessionFileBytes: 64 * 1024 * 1024,
  fileNameCharacters: 255,
  mediaTypeCharacters: 127,
  externalIdBytes: 256,
  correlationIdBytes: 256,
  /** Of one run: durable calls, and the JSON of their outcomes. */
  journalEntries: 10_000,
  journalBytes: 8 * 1024 * 1024,
  /** Of the outcome of one step. */
  journalValueBytes: 512 * 1024,
  durableNameCharacters: 256,
  leaseBatch: 500,
  /** Of why a worker has no namespace tier. */
  isolationProblemCharacters: 2_000,
  /** Of the worker's machine, that one task sees. */
  taskFolders: 32,
  /** Secret versions that a worker asks about in one heartbeat. */
  heldSecrets: 5_000,
  /** Checks of deployments that a worker is at, as it lists them in a lease call. */
  heldChecks: 1_000,
  /** Of an error group: the tasks that it names, and the actors. */
  errorGroupNames: 20,
  /** Of one environment. */
  errorGroups: 10_000,
  /** Of the text of a search over runs. */
  runSearchCharacters: 512,
  runSearchTerms: 20,
  /** Of the beginning of a word that is searched for. */
  runSearchPrefixCharacters: 4,
  /** Of one person in one environment. */
  savedViews: 100,
  reportOperations: 1000,
  pageDefault: 50,
  pageMax: 200,
  logChunkBytes: 64 * 1024,
  snapshotLogBytes: 256 * 1024,
  headerVersionCharacters: 128,
  /** One stored piece of a workspace: a pack, a chunk of a large file, or a manifest; as stored, compressed. */
  blobBytes: 32 * 1024 * 1024,
  workspaceFileBytes: 64 * 1024 * 1024,
  /** Of a live file, as a run and its agent exchange it. */
  runFilePieceBytes: 1024 * 1024,
  /** Entries of one folder that a run can list. */
  runFilesListed: 10_000,
  workspaceFilesDefault: 200,
  workspaceFilesMax: 500,
  workspaceVersionsDefault: 100,
  workspaceVersionsMax: 200,
  workspacePathBytes: 4096,
  /** Files that a version names because they are in it under another name, or not at all. */
  namedPaths: 100,
  namedPathCharacters: 1024,
  processInputBytes: PROCESS_INPUT_BYTES,
  argvItems: 1000,
  argvBytes: 128 * 1024,
  /** `/v1` exec output, each of stdout and stderr. */
  execOutputBytes: 1024 * 1024,
} as const;

/** A task, actor or sandbox id chosen by its author. */
export const DECLARED_ID_PATTERN = "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$";

/** A stream's name: as a declared id, up to 256 bytes. */
export const STREAM_NAME_PATTERN = "^[A-Za-z0-9][A-Za-z0-9._-]{0,255}$";

/** A queue name; as a declared id, and `/` may separate parts. */
export const QUEUE_NAME_PATTERN = "^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$";

/** Text a person may have typed as an external id or concurrency key: no control characters. */
export const PRINTABLE_PATTERN = "^[^\\u0000-\\u001f\\u007f-\\u009f]+$";

/** A file's name without its folder: no control characters and no separators, so that no folder can come of it. */
export const FILE_NAME_PATTERN = "^[^\\u0000-\\u001f\\u007f-\\u009f/\\\\]+$";

/** The name of a project or an environment in URLs and commands. */
export const SLUG_PATTERN = "^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$";

/** ASCII alone, so that no two addresses that look alike or fold alike are taken for one. */
export const EMAIL_PATTERN =
  "^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$";

/** `type/subtype` without parameters (RFC 6838, section 4.2). */
export const MEDIA_TYPE_PATTERN =
  "^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,62}/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,62}$";

export const STREAM_NAME_WORDS =
  "must be 1 to 256 letters, digits, dots, hyphens or underscores, the first a letter or digit";

/** What a text must be that is to match a pattern of the wire: for people, who are not shown one. A test finds those that are missing. */
export const PATTERN_WORDS: Readonly<Record<string, string>> = {
  [DECLARED_ID_PATTERN]:
    "must be 1 to 128 letters, digits, dots, hyphens or underscores, the first a letter or digit",
  [QUEUE_NAME_PATTERN]:
    "must be 1 to 128 letters, digits, dots, hyphens, underscores or slashes, the first a letter or digit",
  [STREAM_NAME_PATTERN]: STREAM_NAME_WORDS,
  [SECRET_NAME_PATTERN]: "must be 1 to 128 letters, digits or underscores, the first no digit",
  [PRINTABLE_PATTERN]: "must be text without control characters",
  [FILE_NAME_PATTERN]: "must be the name of a file, without control characters, slashes and backslashes",
  [SLUG_PATTERN]: "must be 1 to 64 lower-case letters, digits or hyphens, no hyphen first or last",
  [EMAIL_PATTERN]: "must be a mail address in ASCII",
  [DURATION_PATTERN]: "must be a whole number with one of the units ms, s, m, h or d, such as 30s",
  [WAIT_PATTERN]: "must be 0, or a whole number with one of the units ms, s, m, h or d, such as 25s",
  "^[!-~]+/[ -~]+$": "must be a media type, such as application/json",
  "^[0-9a-f]{64}$": "must be 64 lower-case hexadecimal digits",
  "^[0-9]{1,5}\\.[0-9]{1,5}\\.[0-9]{1,5}$": "must be a version of three numbers, such as 24.1.0",
  "^[a-z0-9_]{1,32}$": "must be 1 to 32 lower-case letters, digits or underscores",
  "^[ -~]+$": "must be printable ASCII",
  "^/(?:[!-.0-[\\]-~][!-~]{0,2046})?$": "must be a path of this server, such as /device",
  "^0?[0-7]{3}$": "must be three octal digits, such as 644",
};
