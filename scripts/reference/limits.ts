import { LIMITS } from "../../packages/contract/src/index.ts";
import { code, table } from "./markdown.ts";

/** What each bound of the wire bounds. */
const MEANINGS: Record<keyof typeof LIMITS, string> = {
  bodyBytes: "a JSON body",
  bundleBytes: "a bundle of one module, or one file of an archive",
  archiveFiles: "files of an archive",
  archiveBytes: "an archive, all files together",
  archiveIndexBytes: "the index of an archive",
  archivePathBytes: "a path in an archive",
  workerAppendBytes: "a report of a worker",
  payloadBytes: "the payload of a run",
  outputBytes: "the output of a run",
  tokenDataBytes: "what completes a token",
  metadataBytes: "metadata of a run, session, token or workspace",
  secretValueBytes: "the value of a secret",
  tags: "tags of one object",
  tagCharacters: "characters of a tag",
  jsonDepth: "levels of a JSON body",
  idempotencyKeyBytes: "an idempotency key",
  batchStarts: "starts of one batch",
  bulkActionRuns: "ids of runs that one bulk action names",
  bulkActionCount: "runs that the count of a bulk action is exact up to",
  bulkActionSample: "ids of runs that a dry run shows",
  bulkReasonCharacters: "the reason of a bulk action",
  batchRecords: "records of one append",
  chatStreams: "streams of each direction that a public access token for `session.chat` is for",
  followedStreams: "streams of a session that one connection follows",
  recordBytes: "the data of a record",
  sessionStateBytes: "the state of a session",
  sessionFileBytes: "a file of a session",
  fileNameCharacters: "characters of the name of a file of a session",
  mediaTypeCharacters: "characters of the media type of a file of a session",
  externalIdBytes: "an external id",
  correlationIdBytes: "a correlation id",
  journalEntries: "durable calls of one journal of a run",
  journalBytes: "the outcomes of all durable calls of one journal",
  journalValueBytes: "the outcome of one step",
  durableNameCharacters: "characters of a step's or wait's name",
  leaseBatch: "executions of one lease",
  taskFolders: "folders of the worker's machine that a task in the namespace tier declares",
  isolationProblemCharacters: "characters of why a worker has no namespace tier",
  heldSecrets: "secret versions of one heartbeat",
  heldChecks: "checks of deployments that a worker lists in one lease call",
  errorGroupNames: "tasks, and actors, that an error group names",
  errorGroups: "error groups of an environment; those that were not seen for longest are dropped",
  runSearchCharacters: "characters of a search over runs",
  runSearchTerms: "terms of a search over runs",
  runSearchPrefixCharacters: "at least: characters before the * of a search over runs",
  savedViews: "saved views of one person in one environment",
  reportOperations: "operations of one report",
  pageDefault: "rows of a page, unless the caller says otherwise",
  pageMax: "rows of a page",
  logChunkBytes: "a chunk of a log",
  snapshotLogBytes: "each stream of a log's snapshot",
  headerVersionCharacters: "characters of a version header",
  blobBytes: "a stored piece of a workspace, compressed",
  workspaceFileBytes: "a file that is written over HTTP",
  runFilePieceBytes: "a piece of a file that a run reads or writes",
  runFilesListed: "entries of a folder that a run lists",
  workspaceFilesDefault: "files of a page, unless the caller says otherwise",
  workspaceFilesMax: "files of a page",
  workspaceVersionsDefault: "versions of a page, unless the caller says otherwise",
  workspaceVersionsMax: "versions of a page",
  workspacePathBytes: "a path in a workspace",
  namedPaths: "files that a version names as renamed, and as left out",
  namedPathCharacters: "a path that a version names so",
  processInputBytes: "input to a command or terminal, in one request",
  argvItems: "words of a command",
  argvBytes: "a command, all words together",
  execOutputBytes: "each output in the answer of a command",
};

const KIB = 1024;

function shown(name: string, value: number): string {
  if (!name.endsWith("Bytes")) return value.toLocaleString("en-US");
  if (value % (KIB * KIB) === 0) return `${value / (KIB * KIB)} MiB`;
  return value % KIB === 0 ? `${value / KIB} KiB` : `${value} bytes`;
}

export const limitsTable = (): string =>
  table([
    ["at most", "of", "name in the contract"],
    ...Object.entries(MEANINGS).map(([name, meaning]) => [
      shown(name, LIMITS[name as keyof typeof LIMITS]),
      meaning,
      code(name),
    ]),
  ]);
