import { findCredentialsFile, sameServer, type Environment } from "./config.ts";
import { usageError } from "./exit-codes.ts";
import { chosenPlace, type PlaceFlags } from "./chosen-place.ts";
import { findUser, type UserCredentials } from "./user-credentials.ts";

export type AccessFlags = PlaceFlags & { apiKey?: string };

/** How a command of an environment reaches it: by a key that is bound to one, or as a person who says which. */
export type Access =
  | { kind: "key"; url: string; apiKey: string }
  | { kind: "session"; user: UserCredentials };

function refuse(url: string | null): never {
  throw usageError(
    url === null
      ? "No server: run `keelson up` here, sign in with `keelson login <url>`, pass --url and --api-key, or set KEELSON_URL and KEELSON_API_KEY"
      : `No API key for ${url}: sign in with \`keelson login ${url}\`, pass --api-key, or set KEELSON_API_KEY`,
  );
}

/** The API key that the command line or the environment gives. */
export const givenKey = ({ apiKey }: AccessFlags, env: Environment): string | null =>
  apiKey ?? (env["KEELSON_API_KEY"] || null);

/**
 * An API key that is given (--api-key, KEELSON_API_KEY) wins. Without one the key of the project's `.keelson` is used, unless
 * an environment is chosen; then, and without such a file, the person's session. A credential is used only for its own
 * server: it must not go to another one because a URL was typed.
 */
export function resolveAccess(flags: AccessFlags, env: Environment, cwd: string): Access {
  const chosen = chosenPlace(flags, env);
  const key = givenKey(flags, env);
  const file = findCredentialsFile(env, cwd);
  const ofServer = file !== null && (chosen.url === null || sameServer(chosen.url, file.url)) ? file : null;
  if (key !== null) {
    if (chosen.isExplicit)
      throw usageError(
        "An API key belongs to one environment: leave --environment, --project and --profile out, or leave the key out and sign in with `keelson login`",
      );
    const url = chosen.url ?? file?.url ?? null;
    return url === null ? refuse(null) : { kind: "key", url, apiKey: key };
  }
  const user = findUser(flags, env, cwd);
  const isPlaced =
    user !== null && (chosen.isExplicit || user.kept !== null || user.source === "environment");
  if (ofServer !== null && !isPlaced)
    return { kind: "key", url: chosen.url ?? ofServer.url, apiKey: ofServer.apiKey };
  return user === null ? refuse(chosen.url) : { kind: "session", user };
}
