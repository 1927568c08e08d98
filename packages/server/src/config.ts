import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseDuration } from "@keelson/contract";
import { parseMasterKey, type MasterKey } from "./core/credentials/master-key.ts";
import {
  parseBootstrapCredentials,
  type BootstrapCredentials,
} from "./core/identity/bootstrap-credentials.ts";

/** Everything that can be set, read once. This file alone knows the names of environment variables. */
export type Config = {
  host: string;
  port: number;
  /** null: the embedded server. */
  databaseUrl: string | null;
  databaseDirectUrl: string | null;
  databasePoolSize: number;
  databaseStatementNames: boolean;
  dataDir: string;
  publicUrl: string | null;
  /** null: `master.key` in the data folder. */
  masterKey: MasterKey | null;
  /** null: `credentials.json` in the data folder, made at the first start. */
  credentials: BootstrapCredentials | null;
  leaseDurationMs: number;
  parkAfterMs: number;
  workspaceIdleMs: number;
  /** Requests a second for each credential; 0 is unlimited. */
  rateLimitPerSecond: number;
  /** null: mails are printed on standard error. */
  smtpUrl: string | null;
  mailFrom: string;
  /** null: no sign-in by GitHub. */
  github: { clientId: string; clientSecret: string; url: string; apiUrl: string } | null;
  logLevel: string;
};

/** A setting that cannot be used. The command shows the message as its one line and exits with 78 (EX_CONFIG). */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly exitCode = 78;
}

type Setting = { name: string; byDefault: string | null; description: string; secret?: true };

/** The table that docs/reference/configuration.md is generated from. */
export const SETTINGS = {
  host: { name: "HOST", byDefault: "127.0.0.1", description: "Address to listen on." },
  port: { name: "PORT", byDefault: "4400", description: "Port to listen on; 0 takes a free one." },
  databaseUrl: {
    name: "DATABASE_URL",
    byDefault: null,
    description: "PostgreSQL 15 or later. Without it an embedded PostgreSQL runs in the data folder.",
    secret: true,
  },
  databaseDirectUrl: {
    name: "DATABASE_DIRECT_URL",
    byDefault: null,
    description: "The same database past a pooler, for LISTEN and migrations. Default: DATABASE_URL.",
    secret: true,
  },
  poolSize: {
    name: "KEELSON_POOL_SIZE",
    byDefault: "12",
    description: "Connections to PostgreSQL, 2 to 200.",
  },
  statementNames: {
    name: "KEELSON_STATEMENT_NAMES",
    byDefault: "on",
    description: "`off` behind a pooler that does not keep prepared statements.",
  },
  dataDir: {
    name: "KEELSON_DATA_DIR",
    byDefault: ".keelson",
    description: "Folder of the embedded database, bundles, credentials and caches.",
  },
  publicUrl: {
    name: "PUBLIC_URL",
    byDefault: null,
    description: "The address under which callers reach the server, when it is not the one listened on.",
  },
  leaseDuration: {
    name: "KEELSON_LEASE_DURATION",
    byDefault: "15s",
    description: "How long a silent worker keeps its runs, 6s to 300s.",
  },
  masterKey: {
    name: "KEELSON_MASTER_KEY",
    byDefault: null,
    description:
      "32 bytes in base64, the same on all servers of one database. Default: `master.key` in the data folder, made at the first start. Keep a copy: without it, secrets cannot be read.",
    secret: true,
  },
  credentials: {
    name: "KEELSON_CREDENTIALS",
    byDefault: null,
    description:
      "The first credentials as JSON, made by `keelson credentials`, for servers without a common data folder. Default: `credentials.json` in the data folder, made at the first start.",
    secret: true,
  },
  parkAfter: {
    name: "KEELSON_PARK_AFTER",
    byDefault: "30s",
    description: "How long a waiting run keeps its process before it is suspended, 0s to 1h.",
  },
  workspaceIdle: {
    name: "KEELSON_WORKSPACE_IDLE",
    byDefault: "10m",
    description: "How long a live workspace in which nothing happens stays on its machine, 10s to 24h.",
  },
  rateLimit: {
    name: "KEELSON_RATE_LIMIT",
    byDefault: "0",
    description: "Requests a second for each credential on each server, workers aside; 0 is unlimited.",
  },
  smtpUrl: {
    name: "SMTP_URL",
    byDefault: null,
    description:
      "Server for mails, `smtp://user:password@host:587`. Without it sign-in links and invitations are printed on standard error.",
    secret: true,
  },
  mailFrom: {
    name: "KEELSON_MAIL_FROM",
    byDefault: "Keelson <keelson@localhost>",
    description: "Sender of mails.",
  },
  githubClientId: {
    name: "GITHUB_CLIENT_ID",
    byDefault: null,
    description:
      "OAuth app for sign-in by GitHub; its callback is `<PUBLIC_URL>/api/auth/github/finish`. Without it there is none.",
  },
  githubClientSecret: {
    name: "GITHUB_CLIENT_SECRET",
    byDefault: null,
    description: "The OAuth app's secret.",
    secret: true,
  },
  githubUrl: {
    name: "KEELSON_GITHUB_URL",
    byDefault: "https://github.com",
    description: "Where people sign in: GitHub, or a GitHub Enterprise server.",
  },
  githubApiUrl: {
    name: "KEELSON_GITHUB_API_URL",
    byDefault: "https://api.github.com",
    description: "The API of the same.",
  },
  logLevel: {
    name: "KEELSON_LOG_LEVEL",
    byDefault: "info",
    description: "`debug`, `info`, `warn`, `error` or `silent`.",
  },
} as const satisfies Record<string, Setting>;

/** Names that other parts read: known here so that a misspelt name is told from them. */
const OTHERS = [
  "KEELSON_URL",
  "KEELSON_API_KEY",
  "KEELSON_USER_TOKEN",
  "KEELSON_ENROLLMENT_TOKEN",
  "KEELSON_AGENT_NAME",
  "KEELSON_AGENT_CAPACITY",
  "KEELSON_TASK_ENV",
  "KEELSON_NEW_MASTER_KEY",
  "KEELSON_TEST_DATABASE_URL",
  "KEELSON_TEST_CRASH_SECONDS",
  "KEELSON_TEST_SEED",
];

type Environment = Readonly<Record<string, string | undefined>>;

/** The value of a setting; one that is secret may be in a file that `<NAME>_FILE` names. */
function read(env: Environment, setting: Setting): string | null {
  const value = env[setting.name];
  if (value !== undefined && value !== "") return value;
  const file = setting.secret === true ? env[`${setting.name}_FILE`] : undefined;
  if (file === undefined || file === "") return setting.byDefault;
  try {
    return readFileSync(file, "utf8").trim();
  } catch (cause) {
    throw new ConfigError(
      `${setting.name}_FILE names ${file}, which cannot be read. Check the path and its permissions.`,
      { cause },
    );
  }
}

function integer(env: Environment, setting: Setting, minimum: number, maximum: number): number {
  const text = read(env, setting) ?? "";
  const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= minimum && value <= maximum))
    throw new ConfigError(`${setting.name} is "${text}"; set a whole number from ${minimum} to ${maximum}.`);
  return value;
}

function url(env: Environment, setting: Setting, protocols: RegExp, example: string): string | null {
  const text = read(env, setting);
  if (text === null) return null;
  if (!URL.canParse(text) || !protocols.test(new URL(text).protocol))
    throw new ConfigError(`${setting.name} is not a URL such as ${example}.`);
  return text;
}

/** Not by `URL`, which refuses the form for a unix socket: `postgres://user@/keelson?host=/run/postgresql`. */
function databaseUrl(env: Environment, setting: Setting): string | null {
  const text = read(env, setting);
  if (text === null || /^postgres(ql)?:\/\/\S+$/.test(text)) return text;
  throw new ConfigError(`${setting.name} is not a URL such as postgres://user:password@host:5432/keelson.`);
}

function oneOf<Value extends string>(env: Environment, setting: Setting, values: readonly Value[]): Value {
  const text = read(env, setting);
  const value = values.find((candidate) => candidate === text);
  if (value === undefined)
    throw new ConfigError(`${setting.name} is "${text}"; set one of ${values.join(", ")}.`);
  return value;
}

type DurationBounds = { minimumMs: number; maximumMs: number; shown: string };

function duration(env: Environment, setting: Setting, bounds: DurationBounds): number {
  const text = read(env, setting) ?? "";
  const ms = parseDuration(text);
  if (ms === null || ms < bounds.minimumMs || ms > bounds.maximumMs)
    throw new ConfigError(`${setting.name} is "${text}"; set a duration from ${bounds.shown}.`);
  return ms;
}

function masterKey(env: Environment): MasterKey | null {
  const text = read(env, SETTINGS.masterKey);
  if (text === null) return null;
  const key = parseMasterKey(text);
  if (key === null)
    throw new ConfigError(
      `${SETTINGS.masterKey.name} is not 32 bytes in base64; make one with \`openssl rand -base64 32\`.`,
    );
  return key;
}

function credentials(env: Environment): BootstrapCredentials | null {
  const text = read(env, SETTINGS.credentials);
  if (text === null) return null;
  const parsed = parseBootstrapCredentials(text);
  if (!("wrong" in parsed)) return parsed;
  throw new ConfigError(
    `${SETTINGS.credentials.name} cannot be used because of ${parsed.wrong}; make it with \`keelson credentials\`.`,
  );
}

function github(env: Environment): Config["github"] {
  const clientId = read(env, SETTINGS.githubClientId);
  const clientSecret = read(env, SETTINGS.githubClientSecret);
  const base = (setting: Setting): string =>
    (url(env, setting, /^https?:$/, setting.byDefault ?? "") ?? "").replace(/\/+$/, "");
  if (clientId === null && clientSecret === null) return null;
  if (clientId === null || clientSecret === null)
    throw new ConfigError("Set both GITHUB_CLIENT_ID and GITHUB_CLIENT_SECRET, or neither.");
  return { clientId, clientSecret, url: base(SETTINGS.githubUrl), apiUrl: base(SETTINGS.githubApiUrl) };
}

function refuseUnknown(env: Environment): void {
  const settings = Object.values(SETTINGS) as Setting[];
  const known = new Set([
    ...settings.flatMap(({ name, secret }) => (secret === true ? [name, `${name}_FILE`] : [name])),
    ...OTHERS,
    ...OTHERS.map((name) => `${name}_FILE`),
  ]);
  const unknown = Object.keys(env).find((name) => name.startsWith("KEELSON_") && !known.has(name));
  if (unknown !== undefined)
    throw new ConfigError(`${unknown} is not a setting of Keelson. Check its spelling, or unset it.`);
}

/**
 * Reads and checks the configuration. In a container the data folder is usually a mount; in a checkout it is `.keelson`.
 *
 * @throws ConfigError at the first setting that cannot be used.
 */
export function loadConfig(env: Environment, cwd: string = process.cwd()): Config {
  refuseUnknown(env);
  const dataDir = resolve(cwd, read(env, SETTINGS.dataDir) ?? ".keelson");
  return {
    host: read(env, SETTINGS.host) ?? "127.0.0.1",
    port: integer(env, SETTINGS.port, 0, 65_535),
    databaseUrl: databaseUrl(env, SETTINGS.databaseUrl),
    databaseDirectUrl: databaseUrl(env, SETTINGS.databaseDirectUrl),
    databasePoolSize: integer(env, SETTINGS.poolSize, 2, 200),
    databaseStatementNames: oneOf(env, SETTINGS.statementNames, ["on", "off"]) === "on",
    dataDir,
    publicUrl:
      url(env, SETTINGS.publicUrl, /^https?:$/, "https://keelson.example.com")?.replace(/\/+$/, "") ?? null,
    masterKey: masterKey(env),
    credentials: credentials(env),
    leaseDurationMs: duration(env, SETTINGS.leaseDuration, {
      minimumMs: 6_000,
      maximumMs: 300_000,
      shown: "6s to 300s",
    }),
    workspaceIdleMs: duration(env, SETTINGS.workspaceIdle, {
      minimumMs: 10_000,
      maximumMs: 86_400_000,
      shown: "10s to 24h",
    }),
    parkAfterMs: duration(env, SETTINGS.parkAfter, { minimumMs: 0, maximumMs: 3_600_000, shown: "0s to 1h" }),
    rateLimitPerSecond: integer(env, SETTINGS.rateLimit, 0, 1_000_000),
    smtpUrl: url(env, SETTINGS.smtpUrl, /^smtps?:$/, "smtp://user:password@mail.example.com:587"),
    mailFrom: read(env, SETTINGS.mailFrom) ?? "",
    github: github(env),
    logLevel: oneOf(env, SETTINGS.logLevel, ["debug", "info", "warn", "error", "silent"]),
  };
}
