import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { resolve } from "node:path";
import { isCellTag, parseDuration } from "@keelson/contract";
import type { S3Options } from "./adapters/s3-blobs.ts";
import { parseMasterKey, type MasterKey } from "./core/credentials/master-key.ts";
import type { Quotas } from "./core/quotas/quota.ts";
import type { RateSettings } from "./core/rates/rate.ts";
import type { RetentionPolicy } from "./core/retention/retention.ts";
import { MAX_LEASE_MS } from "./core/workers/worker.ts";
import {
  parseBootstrapCredentials,
  type BootstrapCredentials,
} from "./core/identity/bootstrap-credentials.ts";
import { OTHERS, REMOVED, SETTINGS, type Setting } from "./settings.ts";

/** Everything that can be set, read once. */
export type Config = {
  host: string;
  port: number;
  /** null: the embedded server. */
  databaseUrl: string | null;
  databaseDirectUrl: string | null;
  databaseWaitMs: number;
  databasePoolSize: number;
  databaseStatementNames: boolean;
  dataDir: string;
  publicUrl: string | null;
  /** null: `master.key` in the data folder. */
  masterKey: MasterKey | null;
  /** null: the tag that the database has, if it has one. */
  cell: string | null;
  /** null: `credentials.json` in the data folder, made at the first start. */
  credentials: BootstrapCredentials | null;
  leaseDurationMs: number;
  parkAfterMs: number;
  drainDelayMs: number;
  workspaceIdleMs: number;
  rateLimits: RateSettings;
  /** Of an environment without its own. */
  quotas: Quotas;
  /** Small requests a second that each environment may have done while others call; 0 holds nobody back. */
  /** Addresses and networks. */
  trustedProxies: string[];
  /** Of an address, without a valid credential; 0 is unlimited. */
  addressConnections: number;
  retention: RetentionPolicy;
  /** null: they stay in the database. */
  packLogsAfterMs: number | null;
  /** null: they stay rows of their own. */
  packRecordsAfterMs: number | null;
  /** null: blobs are in the data folder. */
  s3: S3Options | null;
  /** null: mails are shown on the terminal, or kept in the data folder. */
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

/** Without a slash at its end. */
function publicUrl(env: Environment): string | null {
  const example = "https://keelson.example.com";
  const text = url(env, SETTINGS.publicUrl, /^https?:$/, example)?.replace(/\/+$/, "") ?? null;
  if (text === null) return null;
  const { pathname, search, hash } = new URL(text);
  if (pathname === "/" && search === "" && hash === "") return text;
  throw new ConfigError(
    `${SETTINGS.publicUrl.name} has more than a host name and a port: the console and its links need the root of a host name. Give the server one of its own, such as ${example}.`,
  );
}

/** Not by `URL`, which refuses the form for a unix socket: `postgres://user@/keelson?host=/run/postgresql`. */
function databaseUrl(env: Environment, setting: Setting): string | null {
  const text = read(env, setting);
  if (text === null) return null;
  if (!/^postgres(ql)?:\/\/\S+$/.test(text))
    throw new ConfigError(`${setting.name} is not a URL such as postgres://user:password@host:5432/keelson.`);
  const [place = "", parameters = ""] = text.split("?", 2);
  const query = new URLSearchParams(parameters);
  const hosts = query.get("host") ?? /^\w+:\/\/(?:.*@)?([^/]*)/.exec(place)?.[1] ?? "";
  if (hosts.includes(","))
    throw new ConfigError(
      `${setting.name} names several hosts. Name the one address that leads to the primary, such as the read-write service of your cluster.`,
    );
  return TLS_OF_LIBPQ.has(query.get("sslmode") ?? "") ? `${text}&uselibpqcompat=true` : text;
}

/** The driver checks certificates in these modes too, unless it is told to take them as PostgreSQL's own clients do. */
const TLS_OF_LIBPQ = new Set(["prefer", "require"]);

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
  processesMs: kept(env, SETTINGS.keepProcesses),
  runWorkspacesMs: kept(env, SETTINGS.keepRunWorkspaces),
  versionsMs: kept(env, SETTINGS.keepVersions),
  deploymentsMs: kept(env, SETTINGS.keepDeployments),
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

function cell(env: Environment): string | null {
  const text = read(env, SETTINGS.cell);
  if (text === null || isCellTag(text)) return text;
  throw new ConfigError(
    `${SETTINGS.cell.name} is "${text}"; set 2 to 8 lower-case letters and digits that begin with a letter, such as eu1.`,
  );
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
  if (unknown === undefined) return;
  const removed = REMOVED[unknown];
  throw new ConfigError(
    removed === undefined
      ? `${unknown} is not a setting of Keelson. Check its spelling, or unset it.`
      : `${unknown} was removed. ${removed} Unset it.`,
  );
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
    databaseWaitMs: duration(env, SETTINGS.databaseWait, {
      minimumMs: 0,
      maximumMs: 86_400_000,
      shown: "0s to 24h",
    }),
    databasePoolSize: integer(env, SETTINGS.poolSize, 2, 200),
    databaseStatementNames: oneOf(env, SETTINGS.statementNames, ["on", "off"]) === "on",
    dataDir,
    publicUrl: publicUrl(env),
    masterKey: masterKey(env),
    cell: cell(env),
    credentials: credentials(env),
    leaseDurationMs: duration(env, SETTINGS.leaseDuration, {
      minimumMs: 6_000,
      maximumMs: MAX_LEASE_MS,
      shown: "6s to 300s",
    }),
    drainDelayMs: duration(env, SETTINGS.drainDelay, { minimumMs: 0, maximumMs: 300_000, shown: "0s to 5m" }),
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
    addressConnections: integer(env, SETTINGS.addressConnections, 0, 1_000_000),
    trustedProxies: networks(env, SETTINGS.trustedProxies),
    retention: retention(env),
    packLogsAfterMs: kept(env, SETTINGS.packLogsAfter),
    packRecordsAfterMs: kept(env, SETTINGS.packRecordsAfter),
    s3: s3(env),
    smtpUrl: url(env, SETTINGS.smtpUrl, /^smtps?:$/, "smtp://user:password@mail.example.com:587"),
    mailFrom: read(env, SETTINGS.mailFrom) ?? "",
    github: github(env),
    logLevel: oneOf(env, SETTINGS.logLevel, ["debug", "info", "warn", "error", "silent"]),
  };
}
