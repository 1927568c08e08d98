import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Project } from "@keelson/sdk";
import { AuthenticationError, Client, ConflictError, NotFoundError } from "@keelson/sdk";
import type { RunningServer } from "@keelson/server";
import { listAll, WHOLE } from "../list-all.ts";
import { CLI_VERSION } from "../version.ts";

const SLUG = "examples";
const ENVIRONMENT = "development";
const headers = { "service-cli-version": CLI_VERSION };

/** How the examples' project is reached, as `examples.json` of the data folder keeps it. Mode 0600. */
export type ExamplesAccess = { url: string; api_key: string; project_id: string; environment_id: string };

export const examplesFile = (dataDir: string): string => join(dataDir, "examples.json");

async function readKept(path: string): Promise<ExamplesAccess | null> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as ExamplesAccess;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT" || error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Written beside and renamed, so that no other mode and no half of it is ever seen. */
async function keep(path: string, access: ExamplesAccess): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  await rm(temporary, { force: true });
  await writeFile(temporary, `${JSON.stringify(access, null, 2)}\n`, { mode: 0o600, flag: "wx" });
  await rename(temporary, path);
}

/** A key of another database, or one that was revoked, is of no use. */
async function isInUse({ url, api_key: apiKey }: ExamplesAccess, signal: AbortSignal): Promise<boolean> {
  try {
    await new Client({ url, apiKey, headers }).deployments.current({ signal });
    return true;
  } catch (error) {
    if (error instanceof NotFoundError) return true;
    if (error instanceof AuthenticationError) return false;
    throw error;
  }
}

async function findOrCreateProject(client: Client, signal: AbortSignal): Promise<Project> {
  const find = async (): Promise<Project | undefined> =>
    (await listAll(client.projects.list(WHOLE, { signal }))).find(({ slug }) => slug === SLUG);
  const found = await find();
  if (found !== undefined) return found;
  try {
    return await client.projects.create({ name: "Examples", slug: SLUG }, { signal });
  } catch (error) {
    // Another server on this database may have been quicker.
    const other = error instanceof ConflictError ? await find() : undefined;
    if (other === undefined) throw error;
    return other;
  }
}

/**
 * The project of the examples, apart from the person's own: their first deploy removes no example, and the examples stay
 * when theirs is current. Made at the first start, with a key of its own.
 */
export async function openExamplesProject(
  { url, credentials }: Pick<RunningServer, "url" | "credentials">,
  dataDir: string,
  signal: AbortSignal,
): Promise<ExamplesAccess> {
  const path = examplesFile(dataDir);
  const kept = await readKept(path);
  const present = kept === null ? null : { ...kept, url };
  if (present !== null && (await isInUse(present, signal))) {
    if (present.url !== kept?.url) await keep(path, present);
    return present;
  }
  const client = new Client({ url, apiKey: credentials.user_token, headers });
  const project = await findOrCreateProject(client, signal);
  const environments = await listAll(client.environments.list(project.id, WHOLE, { signal }));
  const environment = environments.find(({ slug }) => slug === ENVIRONMENT) ?? environments[0];
  if (environment === undefined) throw new Error("The project of the examples has no environment.");
  const place = { projectId: project.id, environmentId: environment.id };
  const key = await client.apiKeys.create(place, { name: "Examples" }, { signal });
  const made = { url, api_key: key.apiKey, project_id: project.id, environment_id: environment.id };
  await keep(path, made);
  return made;
}
