import { join } from "node:path";
import { readJsonFile, type Environment } from "./config.ts";
import { usageError } from "./exit-codes.ts";
import { configFolder, writePrivateFile } from "./private-file.ts";

/** A server and a place there under one name; its credential is the sign-in to that server. */
export type Profile = { url: string | null; project: string | null; environment: string | null };

const filePath = (env: Environment): string => join(configFolder(env), "profiles.json");

export const readProfiles = (env: Environment): Record<string, Profile> =>
  (readJsonFile(filePath(env)) as Record<string, Profile> | null) ?? {};

export function findProfile(env: Environment, name: string): Profile {
  const profile = readProfiles(env)[name];
  if (profile === undefined)
    throw usageError(
      `There is no profile ${name}: \`keelson profile list\` shows them, \`keelson profile set ${name} --environment …\` makes it`,
    );
  return profile;
}

export const keepProfile = (env: Environment, name: string, profile: Profile): void =>
  writePrivateFile(filePath(env), { ...readProfiles(env), [name]: profile });

export function forgetProfile(env: Environment, name: string): void {
  findProfile(env, name);
  const rest = Object.entries(readProfiles(env)).filter(([other]) => other !== name);
  writePrivateFile(filePath(env), Object.fromEntries(rest));
}
