import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { resolve } from "node:path";
import { parseDuration } from "@keelson/contract";
import type { S3Options } from "./adapters/s3-blobs.ts";
import { parseMasterKey, type MasterKey } from "./core/credentials/master-key.ts";
import type { Quotas } from "./core/quotas/quota.ts";
import type { RateSettings } from "./core/rates/rate.ts";
import type { RetentionPolicy } from "./core/retention/retention.ts";
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
  rateLimits: RateSettings;
  /** Of an environment without its own. */
  quotas: Quotas;
  /** Addresses and networks. */
  trustedProxies: string[];
  retention: RetentionPolicy;
  /** null: they stay in the database. */
  packLogsAfterMs: number | null;
  /** null: blobs are in the data folder. */
  s3: S3Options | null;
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
  s3Bucket: {
    name: "S3_BUCKET",
    byDefault: null,
    description:
      "Bucket for bundles and the files of workspaces, in any S3-compatible store. Without it they are in the data folder, which all servers must then share.",
  },
  s3Endpoint: {
    name: "S3_ENDPOINT",
    byDefault: null,
    description:
      "URL of a store other than AWS, such as `http://minio:9000`; buckets are then part of the path.",
  },
  s3Region: {
    name: "S3_REGION",
    byDefault: null,
    description: "Region of the bucket. Default: `AWS_REGION`, else `us-east-1`.",
  },
  s3Prefix: {
    name: "S3_PREFIX",
    byDefault: null,
    description: "What the keys of all objects begin with, such as `keelson/production`.",
  },
  awsAccessKeyId: {
    name: "AWS_ACCESS_KEY_ID",
    byDefault: null,
    description:
      "Credentials of the bucket. Without them they are looked for as AWS tools do: profile, web identity, container, instance.",
    secret: true,
  },
  awsSecretAccessKey: {
    name: "AWS_SECRET_ACCESS_KEY",
    byDefault: null,
    description: "Belongs to the access key.",
    secret: true,
  },
  awsSessionToken: {
    name: "AWS_SESSION_TOKEN",
    byDefault: null,
    description: "Belongs to temporary credentials.",
    secret: true,
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
  keepRuns: {
    name: "KEELSON_KEEP_RUNS",
    byDefault: "30d",
    description:
      "How long ended runs are kept, with their journals and waits; those of a session stay as long as it. Of these settings each is 1h to 3650d, or `never` for never dropping.",
  },
  keepEvents: {
    name: "KEELSON_KEEP_EVENTS",
    byDefault: "30d",
    description: "How long the events of ended runs are kept, if not as long as the run.",
  },
  keepLogs: {
    name: "KEELSON_KEEP_LOGS",
    byDefault: "30d",
    description: "How long the logs of ended runs are kept, if not as long as the run.",
  },
  packLogsAfter: {
    name: "KEELSON_PACK_LOGS_AFTER",
    byDefault: "1h",
    description:
      "How long after a run's end its logs, if they are large, are moved from the database into a compressed blob, or `never`.",
  },
  keepSessions: {
    name: "KEELSON_KEEP_SESSIONS",
    byDefault: "90d",
    description: "How long ended sessions are kept.",
  },
  keepRecords: {
    name: "KEELSON_KEEP_RECORDS",
    byDefault: "90d",
    description: "How long the records of ended sessions are kept, if not as long as the session.",
  },
  keepTokens: {
    name: "KEELSON_KEEP_TOKENS",
    byDefault: "30d",
    description: "How long completed, cancelled and expired tokens are kept.",
  },
  keepOccurrences: {
    name: "KEELSON_KEEP_OCCURRENCES",
    byDefault: "90d",
    description: "How long the due times of schedules are kept in their ledger.",
  },
  keepOutput: {
    name: "KEELSON_KEEP_OUTPUT",
    byDefault: "7d",
    description: "How long the output of ended execs and PTYs is kept.",
  },
  keepVersions: {
    name: "KEELSON_KEEP_VERSIONS",
    byDefault: "30d",
    description:
      "How long versions of workspaces are kept; never dropped are the current one, the newest ones, and what a fork or a sandbox was made from.",
  },
  keepVersionCount: {
    name: "KEELSON_KEEP_VERSION_COUNT",
    byDefault: "20",
    description: "How many of the newest versions of a workspace are kept however old, 1 to 10000.",
  },
  rateLimit: {
    name: "KEELSON_RATE_LIMIT",
    byDefault: "0",
    description:
      "Requests a second for each credential over all servers, in windows of 10 seconds, workers aside; 0 is unlimited.",
  },
  addressRateLimit: {
    name: "KEELSON_ADDRESS_RATE_LIMIT",
    byDefault: "1000",
    description:
      "The same for each address, of requests without a valid credential, callbacks of providers among them.",
  },
  failureLimit: {
    name: "KEELSON_FAILED_AUTHENTICATION_LIMIT",
    byDefault: "300",
    description:
      "Credentials that are not valid, a minute for each address over all servers; 0 is unlimited.",
  },
  loginLimit: {
    name: "KEELSON_LOGIN_RATE_LIMIT",
    byDefault: "60",
    description:
      "Requests that sign somebody in, a minute for each address over all servers; ten times as many for devices that ask for their token, and for tokens of workers. 0 is unlimited.",
  },
  liveRuns: {
    name: "KEELSON_MAX_LIVE_RUNS",
    byDefault: "1000000",
    description: "Runs that have not ended, in each environment without a quota of its own; 0 is unlimited.",
  },
  eventStreams: {
    name: "KEELSON_MAX_EVENT_STREAMS",
    byDefault: "1000",
    description: "Open event streams, likewise.",
  },
  storedMebibytes: {
    name: "KEELSON_MAX_STORED_MIB",
    byDefault: "0",
    description: "Mebibytes of files, bundles, stream records and logs, likewise.",
  },
  trustedProxies: {
    name: "KEELSON_TRUSTED_PROXIES",
    byDefault: null,
    description:
      "Addresses and networks of proxies before the server, with commas: `10.0.0.0/8, 2001:db8::7`. Theirs is the only `X-Forwarded-For` that is believed.",
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
  "KEELSON_ADMIN_KEY",
  "KEELSON_ENROLLMENT_TOKEN",
  "KEELSON_AGENT_NAME",
  "KEELSON_AGENT_CAPACITY",
  "KEELSON_AGENT_WORKSPACES",
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

/** Addresses and networks, as `10.0.0.7` or `10.0.0.0/8`. */
function networks(env: Environment, setting: Setting): string[] {
  const texts = (read(env, setting) ?? "").split(",").map((text) => text.trim());
  const given = texts.filter((text) => text !== "");
  for (const text of given) {
    const [address = "", bits, ...rest] = text.split("/");
    const version = isIP(address);
    const isPrefix =
      bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
    if (version === 0 || !isPrefix || rest.length > 0)
      throw new ConfigError(`${setting.name} has "${text}"; set addresses and networks such as 10.0.0.0/8.`);
  }
  return given;
}

type DurationBounds = { minimumMs: number; maximumMs: number; shown: string };

function duration(env: Environment, setting: Setting, bounds: DurationBounds): number {
  const text = read(env, setting) ?? "";
  const ms = parseDuration(text);
  if (ms === null || ms < bounds.minimumMs || ms > bounds.maximumMs)
    throw new ConfigError(`${setting.name} is "${text}"; set a duration from ${bounds.shown}.`);
  return ms;
}

/** A duration, or null for `never`. */
function kept(env: Environment, setting: Setting): number | null {
  if (read(env, setting) === "never") return null;
  return duration(env, setting, {
    minimumMs: 3_600_000,
    maximumMs: 3_650 * 86_400_000,
    shown: "1h to 3650d, or never",
  });
}

const retention = (env: Environment): RetentionPolicy => ({
  runsMs: kept(env, SETTINGS.keepRuns),
  eventsMs: kept(env, SETTINGS.keepEvents),
  logsMs: kept(env, SETTINGS.keepLogs),
  sessionsMs: kept(env, SETTINGS.keepSessions),
  recordsMs: kept(env, SETTINGS.keepRecords),
  tokensMs: kept(env, SETTINGS.keepTokens),
  occurrencesMs: kept(env, SETTINGS.keepOccurrences),
  outputMs: kept(env, SETTINGS.keepOutput),
  versionsMs: kept(env, SETTINGS.keepVersions),
  versionCount: integer(env, SETTINGS.keepVersionCount, 1, 10_000),
});

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

function s3(env: Environment): Config["s3"] {
  const bucket = read(env, SETTINGS.s3Bucket);
  const endpoint = url(env, SETTINGS.s3Endpoint, /^https?:$/, "https://s3.example.com");
  const prefix = (read(env, SETTINGS.s3Prefix) ?? "").replace(/^\/+|\/+$/g, "");
  if (bucket === null) {
    if (endpoint !== null)
      throw new ConfigError("S3_ENDPOINT is set without S3_BUCKET; set both, or neither.");
    return null;
  }
  const accessKeyId = read(env, SETTINGS.awsAccessKeyId);
  const secretAccessKey = read(env, SETTINGS.awsSecretAccessKey);
  const sessionToken = read(env, SETTINGS.awsSessionToken);
  if ((accessKeyId === null) !== (secretAccessKey === null))
    throw new ConfigError("Set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or neither.");
  return {
    bucket,
    endpoint,
    region: read(env, SETTINGS.s3Region) ?? (env["AWS_REGION"] || "us-east-1"),
    prefix: prefix === "" ? "" : `${prefix}/`,
    credentials:
      accessKeyId === null || secretAccessKey === null
        ? null
        : { accessKeyId, secretAccessKey, ...(sessionToken !== null && { sessionToken }) },
  };
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
    rateLimits: {
      credential: integer(env, SETTINGS.rateLimit, 0, 1_000_000),
      address: integer(env, SETTINGS.addressRateLimit, 0, 1_000_000),
      failures: integer(env, SETTINGS.failureLimit, 0, 1_000_000),
      logins: integer(env, SETTINGS.loginLimit, 0, 1_000_000),
    },
    quotas: {
      liveRuns: integer(env, SETTINGS.liveRuns, 0, 999_999_999),
      eventStreams: integer(env, SETTINGS.eventStreams, 0, 999_999_999),
      storedBytes: integer(env, SETTINGS.storedMebibytes, 0, 999_999_999) * 1024 * 1024,
    },
    trustedProxies: networks(env, SETTINGS.trustedProxies),
    retention: retention(env),
    packLogsAfterMs: kept(env, SETTINGS.packLogsAfter),
    s3: s3(env),
    smtpUrl: url(env, SETTINGS.smtpUrl, /^smtps?:$/, "smtp://user:password@mail.example.com:587"),
    mailFrom: read(env, SETTINGS.mailFrom) ?? "",
    github: github(env),
    logLevel: oneOf(env, SETTINGS.logLevel, ["debug", "info", "warn", "error", "silent"]),
  };
}
