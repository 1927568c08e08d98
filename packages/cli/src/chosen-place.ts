import type { Environment } from "./config.ts";
import { usageError } from "./exit-codes.ts";
import { findProfile } from "./profiles.ts";

/** The global options that say which server and environment. */
export type PlaceFlags = { url?: string; project?: string; environment?: string; profile?: string };

/** What a command line, the settings and a profile say of the place; null where none does. */
export type ChosenPlace = {
  url: string | null;
  project: string | null;
  environment: string | null;
  /** A project or an environment is named, not only a server. */
  isExplicit: boolean;
};

/** Flag, then setting (KEELSON_URL, KEELSON_PROJECT, KEELSON_ENVIRONMENT), then the profile of --profile or KEELSON_PROFILE. */
export function chosenPlace(flags: PlaceFlags, env: Environment): ChosenPlace {
  const name = flags.profile ?? (env["KEELSON_PROFILE"] || null);
  const profile = name === null ? null : findProfile(env, name);
  const url = flags.url ?? (env["KEELSON_URL"] || null) ?? profile?.url ?? null;
  if (url !== null) checkServerUrl(url);
  const project = flags.project ?? (env["KEELSON_PROJECT"] || null) ?? profile?.project ?? null;
  const environment =
    flags.environment ?? (env["KEELSON_ENVIRONMENT"] || null) ?? profile?.environment ?? null;
  return { url, project, environment, isExplicit: project !== null || environment !== null };
}

/** @throws ExitError */
export function checkServerUrl(url: string): void {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return;
  throw usageError(`"${url}" is not the URL of a server, such as http://localhost:8080`);
}
