import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import type { MetricsPlace } from "./metrics/open-metrics.ts";
import { AGENT_SETTINGS } from "./settings.ts";

export type AgentConfig = {
  url: string;
  enrollmentToken: string;
  name: string;
  capacity: number;
  workspaces: number;
  workspaceDiskBytes: number;
  bundleCacheBytes: number;
  bundleCacheAgeMs: number;
  /** Null: it serves none. */
  metrics: MetricsPlace | null;
  dataDir: string;
  taskEnvironment: Record<string, string>;
  logLevel: string;
};

/** A variable that is missing or cannot be used; the message names it and says what to set. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

export type Environment = Record<string, string | undefined>;

/** Of these beginnings the agent alone has names, so that a misspelt one can be told. */
const KNOWN = Object.values(AGENT_SETTINGS)
  .map(({ name }): string => name)
  .filter((name) => /^KEELSON_(AGENT|TASK)_/.test(name));
const MIB = 1024 * 1024;
const DAY_MS = 24 * 3_600_000;
const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"];
/** What every task process gets of the agent's own environment; credentials are not in it. */
const HOST_VARIABLES = /^(PATH|HOME|LANG|LC_[A-Z]+|TZ|NODE_ENV)$/;

/** Reads the agent's configuration; throws `ConfigError` at the first variable that cannot be used. */
export function parseAgentConfig(env: Environment, readText: (path: string) => string): AgentConfig {
  for (const name of Object.keys(env)) {
    if (/^KEELSON_(AGENT|TASK)_/.test(name) && !KNOWN.includes(name))
      throw new ConfigError(`${name} is not a variable of the agent; known are ${KNOWN.join(", ")}`);
  }
  return {
    url: parseUrl(env),
    enrollmentToken: parseEnrollmentToken(env, readText),
    name: env["KEELSON_AGENT_NAME"] || hostname(),
    capacity: parseCount(env, "KEELSON_AGENT_CAPACITY", { from: 1, preset: 16 }),
    workspaces: parseCount(env, "KEELSON_AGENT_WORKSPACES", { from: 0, preset: 8 }),
    workspaceDiskBytes:
      MIB *
      parseCount(env, "KEELSON_AGENT_WORKSPACE_DISK_MIB", { from: 1, to: 1_000_000_000, preset: 32_768 }),
    bundleCacheBytes:
      MIB * parseCount(env, "KEELSON_AGENT_BUNDLE_CACHE_MIB", { from: 1, to: 1_000_000_000, preset: 5120 }),
    bundleCacheAgeMs: DAY_MS * parseCount(env, "KEELSON_AGENT_BUNDLE_CACHE_DAYS", { from: 1, preset: 30 }),
    metrics: parseMetricsPlace(env),
    dataDir: env["KEELSON_DATA_DIR"] || join(process.cwd(), ".keelson"),
    taskEnvironment: parseTaskEnvironment(env),
    logLevel: parseLogLevel(env["KEELSON_LOG_LEVEL"]),
  };
}

/** The configuration from this process's environment. */
export const readAgentConfig = (): AgentConfig =>
  parseAgentConfig(process.env, (path) => readFileSync(path, "utf8"));

/** The part of this process's environment that task hosts get. */
export function readHostEnvironment(env: Environment = process.env): Record<string, string> {
  const entries = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && HOST_VARIABLES.test(entry[0]),
  );
  return Object.fromEntries(entries);
}

function parseUrl(env: Environment): string {
  const text = env["KEELSON_URL"];
  if (!text)
    throw new ConfigError("KEELSON_URL is not set; give the server's address, such as http://127.0.0.1:4400");
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new ConfigError(`KEELSON_URL is no http or https address: ${text}`);
  return text;
}

function parseEnrollmentToken(env: Environment, readText: (path: string) => string): string {
  const token = env["KEELSON_ENROLLMENT_TOKEN"];
  const file = env["KEELSON_ENROLLMENT_TOKEN_FILE"];
  if (token && file)
    throw new ConfigError(
      "KEELSON_ENROLLMENT_TOKEN and KEELSON_ENROLLMENT_TOKEN_FILE are both set; keep one",
    );
  if (token) return token.trim();
  if (!file)
    throw new ConfigError(
      "KEELSON_ENROLLMENT_TOKEN is not set; the server's credentials.json has one as enrollment_token",
    );
  try {
    return readText(file).trim();
  } catch (cause) {
    throw new ConfigError(`KEELSON_ENROLLMENT_TOKEN_FILE cannot be read: ${(cause as Error).message}`, {
      cause,
    });
  }
}

function parseCount(
  env: Environment,
  name: string,
  { from, to = 100_000, preset }: { from: number; to?: number; preset: number },
): number {
  const text = env[name];
  if (!text) return preset;
  const count = Number(text);
  if (!Number.isInteger(count) || count < from || count > to)
    throw new ConfigError(`${name} must be a whole number from ${from} to ${to}, not ${text}`);
  return count;
}

function parseMetricsPlace(env: Environment): MetricsPlace | null {
  const name = "KEELSON_AGENT_METRICS_PORT";
  if (!env[name]) return null;
  const port = parseCount(env, name, { from: 0, to: 65_535, preset: 0 });
  return { host: env["KEELSON_AGENT_METRICS_HOST"] || "127.0.0.1", port };
}

function parseTaskEnvironment(env: Environment): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const part of (env["KEELSON_TASK_ENV"] ?? "").split(",")) {
    const name = part.trim();
    if (name === "") continue;
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      throw new ConfigError(
        `KEELSON_TASK_ENV is a comma-separated list of variable names; ${name} is not a variable name`,
      );
    if (name.startsWith("KEELSON_ENROLLMENT_TOKEN"))
      throw new ConfigError(
        `KEELSON_TASK_ENV names ${name}; the agent's own credential is never given to tasks`,
      );
    const value = env[name];
    if (value !== undefined) variables[name] = value;
  }
  return variables;
}

function parseLogLevel(text: string | undefined): string {
  if (!text) return "info";
  if (!LOG_LEVELS.includes(text))
    throw new ConfigError(`KEELSON_LOG_LEVEL must be one of ${LOG_LEVELS.join(", ")}, not ${text}`);
  return text;
}
