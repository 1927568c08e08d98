import { hash } from "node:crypto";
import { chmod, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { encodeId } from "@keelson/contract";
import type { Database } from "../../db/pool.ts";
import type { NewUuid } from "../../uuid.ts";
import { makeCredential } from "../credentials/make-credential.ts";
import { ensureTenancy, knowsEnrollment, mintBootstrapCredentials } from "./bootstrap-tenancy.ts";

/** `credentials.json` of the data folder: what a local CLI, agent and person use. Mode 0600. */
export type Credentials = {
  url: string;
  project_id: string;
  environment_id: string;
  api_key: string;
  user_token: string;
  admin_key: string;
  capacity_key: string;
  enrollment_token: string;
};

async function readCredentials(path: string): Promise<Credentials | null> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as Credentials;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new Error(`${path} cannot be read; move it away to have new credentials made.`, { cause: error });
  }
}

/** Written beside and renamed, so that a reader never sees half of it. */
async function writeCredentials(path: string, credentials: Credentials): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const temporary = `${path}.${process.pid}.tmp`;
  await writeFile(temporary, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 });
  await chmod(temporary, 0o600);
  await rename(temporary, path);
}

/**
 * Makes the first tenancy when the database is empty, and keeps the credentials file in step with it: a file that was
 * lost, or that belongs to another database, is written anew with new credentials.
 */
export async function ensureCredentials(
  db: Database,
  path: string,
  url: string,
  newUuid: NewUuid,
  now: number,
): Promise<Credentials> {
  const present = await readCredentials(path);
  const credentials = await db.transaction(async (tx) => {
    const tenancy = await ensureTenancy(tx, newUuid);
    if (present !== null && (await knowsEnrollment(tx, hash("sha256", present.enrollment_token, "buffer"))))
      return { ...present, url };
    const minted = await mintBootstrapCredentials(tx, tenancy, newUuid, makeCredential, now);
    return {
      url,
      project_id: encodeId("proj", tenancy.projectId),
      environment_id: encodeId("env", tenancy.environmentId),
      api_key: minted.apiKey,
      user_token: minted.userToken,
      admin_key: minted.adminKey,
      capacity_key: minted.capacityKey,
      enrollment_token: minted.enrollmentToken,
    };
  });
  if (JSON.stringify(credentials) !== JSON.stringify(present)) await writeCredentials(path, credentials);
  return credentials;
}
