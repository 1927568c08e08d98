import { chmodSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { findCredentialsFile, readJsonFile, sameServer, type Environment } from "./config.ts";
import { usageError } from "./exit-codes.ts";

/** Whom `keelson login` signed in, by server. In the account's own folder, mode 0600. */
export type UserFile = {
  /** The server of the last sign-in. */
  current: string | null;
  servers: Record<string, { token: string; email: string }>;
};

/** A user's session and, if something says it, where they act. */
export type UserCredentials = {
  url: string;
  token: string;
  projectId: string | null;
  environmentId: string | null;
  source: "environment" | "project" | "login";
};

export const userFilePath = (env: Environment): string =>
  join(env["XDG_CONFIG_HOME"] || join(env["HOME"] || homedir(), ".config"), "keelson", "credentials.json");

const serverKey = (url: string): string => url.replace(/\/+$/, "");

export function readUserFile(env: Environment): UserFile {
  const path = userFilePath(env);
  const content = readJsonFile(path) as Partial<UserFile> | null;
  if (content === null) return { current: null, servers: {} };
  if (typeof content.servers !== "object")
    throw usageError(`${path} is not a file of \`keelson login\`; move it away and sign in again`);
  return { current: content.current ?? null, servers: content.servers };
}

/** Written beside and renamed, so that nobody ever reads half of it, or reads it at all who is not its owner. */
function writeUserFile(env: Environment, file: UserFile): void {
  const path = userFilePath(env);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${process.pid}.tmp`;
  writeFileSync(temporary, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
  chmodSync(temporary, 0o600);
  renameSync(temporary, path);
}

export function keepLogin(env: Environment, url: string, login: { token: string; email: string }): void {
  const { servers } = readUserFile(env);
  writeUserFile(env, { current: serverKey(url), servers: { ...servers, [serverKey(url)]: login } });
}

export function forgetLogin(env: Environment, url: string): void {
  const { current, servers } = readUserFile(env);
  const rest = Object.fromEntries(Object.entries(servers).filter(([key]) => key !== serverKey(url)));
  writeUserFile(env, { current: current === serverKey(url) ? null : current, servers: rest });
}

/** The sign-in at a server, or the last one; null without. */
export function findLogin(env: Environment, url: string | null): { url: string; token: string } | null {
  const { current, servers } = readUserFile(env);
  const key = url === null ? current : serverKey(url);
  const login = key === null ? undefined : servers[key];
  return key === null || login === undefined ? null : { url: key, token: login.token };
}

/**
 * Environment (KEELSON_URL with KEELSON_USER_TOKEN), then the project's file, then `keelson login`. A token is used only
 * for its own server: it must not go to another one because a URL was typed.
 */
export function resolveUser(flags: { url?: string }, env: Environment, cwd: string): UserCredentials {
  const url = flags.url ?? (env["KEELSON_URL"] || null);
  const token = env["KEELSON_USER_TOKEN"] || null;
  const nowhere = { projectId: null, environmentId: null };
  if (url !== null && token !== null) return { url, token, ...nowhere, source: "environment" };
  const file = findCredentialsFile(env, cwd);
  if (file !== null && file.userToken !== null && (url === null || sameServer(url, file.url))) {
    const { projectId, environmentId } = file;
    return {
      url: url ?? file.url,
      token: token ?? file.userToken,
      projectId,
      environmentId,
      source: "project",
    };
  }
  const login = findLogin(env, url);
  if (login !== null) return { ...login, ...nowhere, source: "login" };
  throw usageError(
    url === null
      ? "Nobody is signed in: run `keelson login <url>`, or set KEELSON_URL and KEELSON_USER_TOKEN"
      : `Nobody is signed in to ${url}: run \`keelson login ${url}\``,
  );
}
