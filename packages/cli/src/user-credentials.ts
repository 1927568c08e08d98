import { join } from "node:path";
import { chosenPlace, type PlaceFlags } from "./chosen-place.ts";
import { findCredentialsFile, readJsonFile, sameServer, type Environment } from "./config.ts";
import { usageError } from "./exit-codes.ts";
import { configFolder, writePrivateFile } from "./private-file.ts";

/** What `keelson environment use` keeps for a server: the last project, and the environment of each. */
export type KeptPlace = { projectId: string; environments: Record<string, string> };

type Login = { token: string; email: string };

/** Whom `keelson login` signed in, and the place each last chose, by server. In the account's own folder, mode 0600. */
export type UserFile = {
  /** The server of the last sign-in. */
  current: string | null;
  servers: Record<string, Login>;
  /** Apart from the sign-ins: who signs in again keeps their environment. */
  places: Record<string, KeptPlace>;
};

/** A user's session and, if something says it, where they act. */
export type UserCredentials = {
  url: string;
  token: string;
  /** The environment of the project's `.keelson`. */
  projectId: string | null;
  environmentId: string | null;
  /** The environment of `keelson environment use`. */
  kept: KeptPlace | null;
  source: "environment" | "project" | "login";
};

export const userFilePath = (env: Environment): string => join(configFolder(env), "credentials.json");

const serverKey = (url: string): string => url.replace(/\/+$/, "");

export function readUserFile(env: Environment): UserFile {
  const path = userFilePath(env);
  const content = readJsonFile(path) as Partial<UserFile> | null;
  if (content === null) return { current: null, servers: {}, places: {} };
  if (typeof content.servers !== "object")
    throw usageError(`${path} is not a file of \`keelson login\`; move it away and sign in again`);
  return { current: content.current ?? null, servers: content.servers, places: content.places ?? {} };
}

const writeUserFile = (env: Environment, file: UserFile): void => writePrivateFile(userFilePath(env), file);

export function keepLogin(env: Environment, url: string, login: Login): void {
  const { servers, places } = readUserFile(env);
  writeUserFile(env, { current: serverKey(url), servers: { ...servers, [serverKey(url)]: login }, places });
}

export function forgetLogin(env: Environment, url: string): void {
  const { current, servers, places } = readUserFile(env);
  const rest = Object.fromEntries(Object.entries(servers).filter(([key]) => key !== serverKey(url)));
  writeUserFile(env, { current: current === serverKey(url) ? null : current, servers: rest, places });
}

export function keepPlace(env: Environment, url: string, projectId: string, environmentId: string): void {
  const file = readUserFile(env);
  const environments = { ...file.places[serverKey(url)]?.environments, [projectId]: environmentId };
  const places = { ...file.places, [serverKey(url)]: { projectId, environments } };
  writeUserFile(env, { ...file, places });
}

/** The sign-in at a server, or the last one; null without. */
export function findLogin(env: Environment, url: string | null): { url: string; token: string } | null {
  const { current, servers } = readUserFile(env);
  const key = url === null ? current : serverKey(url);
  const login = key === null ? undefined : servers[key];
  return key === null || login === undefined ? null : { url: key, token: login.token };
}

/**
 * Environment (KEELSON_URL with KEELSON_USER_TOKEN), then the project's file, then `keelson login`; null when nobody is
 * signed in. A token is used only for its own server: it must not go to another one because a URL was typed.
 */
export function findUser(flags: PlaceFlags, env: Environment, cwd: string): UserCredentials | null {
  const { url } = chosenPlace(flags, env);
  const token = env["KEELSON_USER_TOKEN"] || null;
  const { places } = readUserFile(env);
  const at = (server: string) => ({
    projectId: null,
    environmentId: null,
    kept: places[serverKey(server)] ?? null,
  });
  if (url !== null && token !== null) return { ...at(url), url, token, source: "environment" };
  const file = findCredentialsFile(env, cwd);
  if (file !== null && file.userToken !== null && (url === null || sameServer(url, file.url))) {
    const { projectId, environmentId } = file;
    const session = { url: url ?? file.url, token: token ?? file.userToken };
    return { ...at(file.url), ...session, projectId, environmentId, source: "project" };
  }
  const login = findLogin(env, url);
  return login === null ? null : { ...at(login.url), ...login, source: "login" };
}

/** As `findUser`; throws a usage error that says how to sign in. */
export function resolveUser(flags: PlaceFlags, env: Environment, cwd: string): UserCredentials {
  const user = findUser(flags, env, cwd);
  if (user !== null) return user;
  const { url } = chosenPlace(flags, env);
  throw usageError(
    url === null
      ? "Nobody is signed in: run `keelson login <url>`, or set KEELSON_URL and KEELSON_USER_TOKEN"
      : `Nobody is signed in to ${url}: run \`keelson login ${url}\``,
  );
}
