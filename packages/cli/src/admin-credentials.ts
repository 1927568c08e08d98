import { findCredentialsFile, sameServer, type Environment } from "./config.ts";
import { usageError } from "./exit-codes.ts";
import { findLogin } from "./user-credentials.ts";

/** What administers an installation: its admin key, or the session of a user who may. */
export type AdminCredentials = { url: string; credential: string };

/**
 * Environment (KEELSON_URL with KEELSON_ADMIN_KEY), then the project's file, then `keelson login`, whose user must be an
 * administrator. A key is used only for its own server: it must not go to another one because a URL was typed.
 */
export function resolveAdmin(flags: { url?: string }, env: Environment, cwd: string): AdminCredentials {
  const url = flags.url ?? (env["KEELSON_URL"] || null);
  const key = env["KEELSON_ADMIN_KEY"] || null;
  if (url !== null && key !== null) return { url, credential: key };
  const file = findCredentialsFile(env, cwd);
  if (file !== null && (url === null || sameServer(url, file.url))) {
    const credential = key ?? file.adminKey;
    if (credential !== null) return { url: url ?? file.url, credential };
  }
  const login = findLogin(env, url);
  if (login !== null) return { url: login.url, credential: login.token };
  throw usageError(
    "No admin key: set KEELSON_URL and KEELSON_ADMIN_KEY, or sign in as an administrator with `keelson login <url>`",
  );
}
