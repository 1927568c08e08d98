import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { usageError } from "./exit-codes.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** What a client needs, and where it came from. */
export type Credentials = { url: string; apiKey: string };

/** As a server writes it; see `startServer`. */
type CredentialsFile = Partial<
  Record<"url" | "api_key" | "user_token" | "admin_key" | "project_id" | "environment_id", unknown>
>;

/** A file of JSON; null when it is not there. */
export function readJsonFile(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw usageError(`Cannot read ${path}: ${message}`);
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw usageError(`${path} is not a credentials file; move it away`);
  }
}

export type ProjectCredentials = Credentials & {
  userToken: string | null;
  adminKey: string | null;
  projectId: string | null;
  environmentId: string | null;
};

function readCredentialsFile(path: string): ProjectCredentials | null {
  const content = readJsonFile(path) as CredentialsFile | null;
  if (content === null) return null;
  const { url, api_key: apiKey } = content;
  const text = (value: unknown): string | null => (typeof value === "string" ? value : null);
  if (typeof url === "string" && typeof apiKey === "string") {
    const { user_token: userToken, admin_key: adminKey } = content;
    const { project_id: projectId, environment_id: environmentId } = content;
    return {
      url,
      apiKey,
      userToken: text(userToken),
      adminKey: text(adminKey),
      projectId: text(projectId),
      environmentId: text(environmentId),
    };
  }
  throw usageError(`${path} is not a credentials file; remove it and start the server again`);
}

/** The file that a server leaves in its data folder: in KEELSON_DATA_DIR, else in `.keelson` here or in a folder above. */
export function findCredentialsFile(env: Environment, cwd: string): ProjectCredentials | null {
  const dataDir = env["KEELSON_DATA_DIR"];
  if (dataDir !== undefined && dataDir !== "")
    return readCredentialsFile(resolve(cwd, dataDir, "credentials.json"));
  for (let folder = cwd; ; folder = dirname(folder)) {
    const found = readCredentialsFile(join(folder, ".keelson", "credentials.json"));
    if (found !== null || dirname(folder) === folder) return found;
  }
}

export const sameServer = (a: string, b: string): boolean => a.replace(/\/+$/, "") === b.replace(/\/+$/, "");
