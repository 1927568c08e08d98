/**
 * The rules `scripts/tidy.ts` holds the repository to. This file is data: to change what is allowed, edit a
 * table here, and say why in the commit. Paths are relative to the repository's root with `/` separators;
 * a pattern is a regular expression over such a path.
 */

/** A file that drives the product instead of being part of it: it may reach into any package. */
export const TEST_FILE = /(^packages\/[^/]+\/test\/|^examples\/[^/]+\/test\/|\.test\.ts$)/;
const DRIVER = /^(scripts|bench)\//;

const CONTRACT = /^packages\/contract\/src\//;
/** File trees: what server and agent must agree on to the byte. */
const TREE = /^packages\/workspace-tree\/src\//;
/** `core/runs/run.ts` or `core/runs/runs.ts`: the pure model of its folder. Group 1 is the folder's stem. */
export const MODEL = /^packages\/server\/src\/core\/([a-z-]+?)(?:s|ies)?\/\1(?:s|y)?\.ts$/;
const CORE = /^packages\/server\/src\/core\//;
const CORE_ROOT = /^packages\/server\/src\/core\/[^/]+\.ts$/;
const CORE_WRITES = /^packages\/server\/src\/core\/.*-writes\.ts$/;
/** The condition that every list of a loop's items has. */
const SET_ASIDE = /^packages\/server\/src\/core\/loop-failures\/loop-failure-reads\.ts$/;
/** The condition that every list of lapsed leases has. */
const WORKER_CONDITIONS = /^packages\/server\/src\/core\/workers\/(silence|isolation|claimer)-reads\.ts$/;
const HTTP = /^packages\/server\/src\/http\//;
const EDGE = /^packages\/server\/src\/http\/edge\//;
const RESOURCES = /^packages\/server\/src\/http\/resources\//;
const FAMILIES = /^packages\/server\/src\/http\/families\//;
/** What every route needs of the domain: who calls, how often, what is told again, what is logged, what is followed. */
const EDGE_CORE =
  /^packages\/server\/src\/core\/(audit|credentials|executions\/find-odd-value|feeds|idempotency|rates)(\/|\.ts)/;
/** Names of what can be woken. */
const WAKE_KEYS = /^packages\/server\/src\/core\/feeds\/wake-keys\.ts$/;
const TIME = /^packages\/server\/src\/time\//;
const DB = /^packages\/server\/src\/db\//;
/** Small files straight under `src/` (clock, uuid, log): leaves that every layer may use. */
const LEAF =
  /^packages\/server\/src\/(?!main\.|server\.|run-[a-z]+\.|(?:open|load)-[a-z]+\.|create-context\.|config\.|index\.)[^/]+\.ts$/;

export interface ImportRule {
  /** Named in the finding. */
  readonly layer: string;
  readonly files: RegExp;
  /** Repository files it may import, besides `own`. */
  readonly may: readonly RegExp[];
  /** Besides `may`, where only types are imported: they carry no behaviour. */
  readonly mayTypes?: readonly RegExp[];
  /** Wins over `may` and `own`. */
  readonly never?: readonly RegExp[];
  /** `folder`: files of its own folder are allowed; `package`: of its own package. */
  readonly own: "none" | "folder" | "package";
  /** May import files of other packages by path, and tests. */
  readonly reachesAnywhere?: true;
  /** Packages from outside it may import; absent: whatever its package.json lists (knip checks that). */
  readonly external?: readonly RegExp[];
}

/** The import table. The first row whose `files` fits decides; a source file without a row is a finding. */
export const IMPORT_RULES: readonly ImportRule[] = [
  { layer: "a test", files: TEST_FILE, may: [/./], own: "package", reachesAnywhere: true },
  { layer: "a script or a benchmark", files: DRIVER, may: [/./], own: "package", reachesAnywhere: true },
  {
    layer: "contract",
    files: /^packages\/contract\//,
    may: [],
    own: "package",
    external: [/^typebox(\/|$)/],
  },
  {
    layer: "workspace-tree",
    files: /^packages\/workspace-tree\//,
    may: [],
    own: "package",
    external: [/^node:/],
  },
  {
    layer: "create-keelson",
    files: /^packages\/create-keelson\//,
    may: [],
    own: "package",
    external: [/^node:/],
  },
  { layer: "sdk", files: /^packages\/sdk\//, may: [CONTRACT], own: "package" },
  { layer: "agent", files: /^packages\/agent\//, may: [CONTRACT, TREE], own: "package" },
  {
    layer: "cli",
    files: /^packages\/cli\//,
    may: [/^packages\/(sdk|agent|server|contract|create-keelson)\/src\//],
    own: "package",
  },
  {
    layer: "console",
    files: /^packages\/console\//,
    may: [CONTRACT, /^packages\/sdk\/src\//],
    own: "package",
  },
  { layer: "an example", files: /^examples\//, may: [/^packages\/sdk\/src\//], own: "package" },

  { layer: "db", files: DB, may: [CONTRACT, LEAF], own: "folder" },
  {
    layer: "the embedded PostgreSQL",
    files: /^packages\/server\/src\/embedded-postgres\//,
    may: [LEAF],
    own: "folder",
  },
  {
    layer: "a model",
    files: MODEL,
    may: [CONTRACT, MODEL, CORE_ROOT],
    own: "none",
    external: [],
  },
  { layer: "a file straight under core", files: CORE_ROOT, may: [CONTRACT, CORE_ROOT, LEAF], own: "none" },
  {
    layer: "reads and writes",
    files: /^packages\/server\/src\/core\/.*-(reads|writes)\.ts$/,
    may: [CONTRACT, MODEL, CORE_ROOT, DB, LEAF, SET_ASIDE, WORKER_CONDITIONS, WAKE_KEYS],
    own: "folder",
  },
  {
    layer: "a core operation",
    files: CORE,
    may: [CONTRACT, TREE, CORE, DB, LEAF],
    own: "folder",
  },
  {
    layer: "the HTTP edge",
    files: EDGE,
    may: [CONTRACT, TREE, EDGE, EDGE_CORE, DB, LEAF],
    mayTypes: [CORE],
    never: [CORE_WRITES],
    own: "none",
  },
  {
    layer: "an HTTP resource",
    files: RESOURCES,
    may: [CONTRACT, TREE, EDGE, RESOURCES, CORE, LEAF],
    mayTypes: [DB],
    never: [CORE_WRITES],
    own: "folder",
  },
  {
    layer: "an HTTP family",
    files: FAMILIES,
    may: [CONTRACT, EDGE, RESOURCES, FAMILIES, CORE, LEAF],
    mayTypes: [DB, TREE],
    never: [CORE_WRITES],
    own: "folder",
  },
  {
    layer: "the HTTP registry and its documents",
    files: HTTP,
    may: [CONTRACT, HTTP, MODEL, LEAF],
    mayTypes: [CORE],
    own: "folder",
  },
  {
    layer: "the server's time",
    files: TIME,
    may: [DB, LEAF],
    own: "folder",
  },
  {
    layer: "a loop",
    files: /^packages\/server\/src\/loops\//,
    may: [CONTRACT, CORE, DB, LEAF],
    mayTypes: [TIME],
    own: "folder",
  },
  {
    layer: "an adapter",
    files: /^packages\/server\/src\/adapters\//,
    may: [CONTRACT, CORE_ROOT, MODEL, LEAF],
    own: "folder",
  },
  {
    layer: "the server context",
    files: /^packages\/server\/src\/server-context\.ts$/,
    may: [CONTRACT, LEAF],
    mayTypes: [/^packages\/server\/src\//],
    own: "none",
  },
  { layer: "a leaf of the server", files: LEAF, may: [CONTRACT, LEAF], own: "none" },
  {
    layer: "the server's composition root",
    files:
      /^packages\/server\/src\/(main|run-[a-z]+|open-[a-z]+|load-[a-z]+|server|create-context|config|index)\.ts$/,
    may: [CONTRACT],
    own: "package",
  },
];

/**
 * The reading order of `core`. A slice may import the slices of the rows under its own, never one beside or above it. Models
 * and what is only a type may be imported from anywhere: they do nothing on their own.
 */
export const SLICES: readonly (readonly string[])[] = [
  ["endings", "leases"],
  ["public-access", "sessions"],
  ["streams", "tokens"],
  ["bulk-actions", "deployments", "materializations", "waits"],
  ["executions", "oauth", "run-search", "schedules"],
  ["logins", "processes", "retention", "runs"],
  ["identity", "workspaces"],
  ["backups", "bundles", "run-logs", "secrets", "versions", "workers"],
  ["audit", "blobs", "credentials", "error-groups", "quotas", "run-rollups", "sandboxes", "saved-views"],
  [
    ...["capacity", "entrypoints", "feeds", "idempotency", "journal"],
    ...["loop-failures", "losses", "queues", "rates", "run-events", "system"],
  ],
];

/** Statements are in reads and writes. */
export const SQL_HOMES = /-(reads|writes)\.ts$/;
/** Routes declare `transaction`, and the edge runs it; what waits after a commit is an operation of core. */
export const TRANSACTION_FREE = /^packages\/server\/src\/http\/(resources|families)\//;
/**
 * Words of the wire in `core`: names in snake_case outside of strings and SQL. `http` maps them, except where stored payloads
 * have them. The number may only fall: when it is less, it follows down.
 */
export const WIRE_WORDS_IN_CORE = 254;

/** Files nothing needs to import. */
export const ENTRIES: readonly RegExp[] = [
  /^packages\/[^/]+\/src\/(index|main)\.ts$/,
  /^packages\/sdk\/src\/(browser|browser-files|client|react|server|testing|runtime\/index|ai\/(chat|client|react|server))\.ts$/,
  /^packages\/agent\/src\/(host|supervisor)\/main\.ts$/,
  /^packages\/console\/(src\/main\.tsx|src\/.*-worker\.ts|vite\.config\.ts)$/,
  // Generated: all routes, whether a page calls them or not.
  /^packages\/console\/src\/api\/routes\//,
  /^scripts\/[^/]+\.(ts|mjs)$/,
  // Test files that fail, which a test of the runner runs by name.
  /^scripts\/testing\/fixtures\//,
  /^bench\/src\/main\.ts$/,
  // A project that a test deploys: the bundler finds its files.
  /^packages\/cli\/test\/native-project\//,
  /^bench\/project\//,
  /^examples\/[^/]+\//,
  /\.test\.ts$/,
];

/** What may be used only in its home, so that behaviour depends on what is passed in. */
export const HOMES: Readonly<Record<Use, { homes: readonly RegExp[]; instead: string }>> = {
  "process.env": {
    homes: [
      /(^|\/)config\.ts$/,
      /(^|\/)main\.ts$/,
      // The launcher, which runs before anything that could pass it in.
      /^packages\/cli\/bin\//,
      /^packages\/agent\/src\/host\//,
    ],
    instead: "read it in config.ts or a main.ts and pass the value in",
  },
  "the current time": {
    homes: [/(^|\/)clock\.ts$/, /^packages\/agent\/src\/host\//, /^packages\/(cli|console)\/src\//],
    instead: "take a clock as an argument",
  },
  "Math.random": {
    homes: [/(^|\/)(uuid|random)\.ts$/],
    instead: "take a random source as an argument",
  },
  console: {
    homes: [/(^|\/)main\.ts$/, /^packages\/cli\/src\//, /^packages\/agent\/src\/host\//],
    instead: "log through the logger that is passed in",
  },
  "a function as the value of an assignment to a property": {
    homes: [
      /^packages\/(cli|console)\//,
      // Once for each process.
      /^packages\/agent\/src\/host\/(map-stacks|shared)\.ts$/,
      /^packages\/agent\/src\/supervisor\/supervision\.ts$/,
    ],
    instead: "give it a name first: V8 has what it closes over outlive every scavenge otherwise",
  },
};
export type Use =
  | "process.env"
  | "the current time"
  | "Math.random"
  | "console"
  | "a function as the value of an assignment to a property";

/** Paths of the server's routes: who calls one by its text is told nothing of what it takes and answers. */
export const ROUTE_TEXT = /^\/(v1|api|admin\/api|capacity|worker)(\/|$)/;
export const ROUTE_TEXT_RULES: readonly { files: RegExp; homes: readonly RegExp[]; instead: string }[] = [
  {
    files: /^packages\/console\/src\//,
    // What is generated, and a command that a person copies.
    homes: [
      /^packages\/console\/src\/api\/routes\//,
      /^packages\/console\/src\/features\/runs\/commands-of\.ts$/,
    ],
    instead: "pass the route of src/api/routes",
  },
  {
    files: /^packages\/cli\/src\//,
    // What sends the requests of a session to the other family, and a command that a person copies.
    homes: [/^packages\/cli\/src\/session-fetch\.ts$/, /^packages\/cli\/src\/up\/describe-server\.ts$/],
    instead: "call a method of the SDK's client",
  },
];

/** Homes of everything above. */
export const FREE_HOMES: readonly RegExp[] = [TEST_FILE, DRIVER, /^examples\//];

/** Names that say "a pile" instead of a thing. */
export const BANNED_NAMES: ReadonlySet<string> = new Set(
  "util utils helper helpers common misc types service services manager managers".split(" "),
);
/** Refused as the last word of a name too: `run-helpers`. (`row-types` can be a thing.) */
export const BANNED_LAST_WORDS: ReadonlySet<string> = new Set(
  "util utils helper helpers misc service services manager managers".split(" "),
);
/** The only places where a file may be called index. */
export const INDEX_FILES = /^packages\/([^/]+\/src\/(runtime\/)?index\.ts|console\/index\.html)$/;

export const MAX_FILE_LINES = 400;
export const MAX_FUNCTION_LINES = 70;
/**
 * Files that are over a limit today. The number may only fall: a file that has become smaller than its number
 * is a finding too, until the number follows it down. New files do not enter this list.
 */
export const RATCHET: Readonly<Record<string, { fileLines?: number; functionLines?: number }>> = {};

/** Text that must not be in any tracked file, and what to do about it. */
export const FORBIDDEN_TEXT: readonly { pattern: RegExp; todo: string }[] = [
  {
    pattern: /(?<![\w.}/-])\/(work|home|root|Users)\/[\w.-]+/,
    todo: "remove the absolute path of a machine; use a relative path or a placeholder",
  },
  {
    pattern: /\b(registry\.[a-z0-9-]+\.[a-z]{2,}|[a-z0-9.-]*(artifactory|verdaccio)[a-z0-9.-]*\.[a-z]{2,})\b/,
    todo: "remove the host of a package registry; npm's own configuration decides where packages come from",
  },
];
/** Where such text is data: these rules, and their tests. */
export const FORBIDDEN_TEXT_EXEMPT = /^scripts\/(tidy\/rules\.ts|tidy\.test\.ts)$/;

/** Output of a build or a run: never committed. */
export const BUILD_OUTPUT =
  /(^|\/)(node_modules|dist|coverage|\.keelson)\/|^report\/|\.(tsbuildinfo|log)$|(^|\/)\.env$/;
/** Made by `npm run generate` and committed; each says so near its top. */
export const GENERATED_DOCUMENTS =
  /^docs\/reference\/(state-machines|errors|events|permissions|configuration|objects|sdk(-\w+)?)\.md$/;
