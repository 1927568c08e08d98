import { chmod, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { encodeId } from "@keelson/contract";
import type { Database } from "../../db/pool.ts";
import type { NewUuid } from "../../uuid.ts";
import type { MakeCredential } from "../credentials/make-credential.ts";
import {
  makeBootstrapCredentials,
  makeEnrollmentToken,
  toBootstrapFields,
  type BootstrapCredentials,
  type BootstrapFields,
} from "./bootstrap-credentials.ts";
import {
  ensureTenancy,
  type FirstProject,
  findEnrollment,
  storeBootstrapCredentials,
  storeEnrollmentToken,
  type Tenancy,
} from "./bootstrap-tenancy.ts";

/** `credentials.json` of the data folder: what a local CLI, agent and person use. Mode 0600. */
export type Credentials = BootstrapFields & { url: string; project_id: string; environment_id: string };

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
  await mkdir(dirname(path), { recursive: true, mode: 0o711 });
  const temporary = `${path}.${process.pid}.tmp`;
  await writeFile(temporary, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 });
  await chmod(temporary, 0o600);
  await rename(temporary, path);
}

const toCredentials = (url: string, tenancy: Tenancy, fields: BootstrapFields): Credentials => ({
  url,
  project_id: encodeId("proj", tenancy.projectId),
  environment_id: encodeId("env", tenancy.environmentId),
  ...fields,
});

type CredentialsContext = {
  newUuid: NewUuid;
  makeCredential: MakeCredential;
  warn: (news: string) => void;
  now: number;
};

/**
 * Makes the first tenancy when the database is empty, and keeps the credentials file in step with it: a file that was
 * lost, or that belongs to another database, is written anew with new credentials. In the place of an enrollment token that was revoked
 * comes a new one, for the agent of this machine; what else was revoked stays revoked.
 */
export async function ensureCredentials(
  db: Database,
  path: string,
  url: string,
  firstProject: FirstProject,
  { newUuid, makeCredential, warn, now }: CredentialsContext,
): Promise<Credentials> {
  const present = await readCredentials(path);
  const { credentials, news } = await db.transaction(async (tx) => {
    const { isNew, ...tenancy } = await ensureTenancy(tx, newUuid, firstProject);
    const enrollment = present === null ? "absent" : await findEnrollment(tx, present.enrollment_token);
    if (present !== null && enrollment === "valid") return { credentials: { ...present, url }, news: null };
    if (present !== null && enrollment === "revoked") {
      const token = makeEnrollmentToken(makeCredential);
      await storeEnrollmentToken(tx, tenancy, token, newUuid);
      return { credentials: { ...present, enrollment_token: token, url }, news: NEW_TOKEN };
    }
    const made = makeBootstrapCredentials(makeCredential);
    await storeBootstrapCredentials(tx, tenancy, made, newUuid, now);
    const all = toCredentials(url, tenancy, toBootstrapFields(made));
    return { credentials: all, news: isNew ? null : NEW_SET };
  });
  if (JSON.stringify(credentials) !== JSON.stringify(present)) await writeCredentials(path, credentials);
  if (news !== null) warn(`${path}: ${news}`);
  return credentials;
}

const NEW_TOKEN =
  "its enrollment token was revoked, so another one was made; the other credentials stay as they are";
const NEW_SET =
  "it had no credentials of this installation, so a new set was made, for an owner, an operator and an agent";

/**
 * The same for credentials that the operator made: stored the first time any server sees them, so that one that was
 * revoked since stays revoked, and written nowhere. Servers without a common folder have one set in common this way.
 */
export const ensureGivenCredentials = (
  db: Database,
  given: BootstrapCredentials,
  url: string,
  firstProject: FirstProject,
  newUuid: NewUuid,
  now: number,
): Promise<Credentials> =>
  db.transaction(async (tx) => {
    const tenancy = await ensureTenancy(tx, newUuid, firstProject);
    if ((await findEnrollment(tx, given.enrollmentToken)) === "absent")
      await storeBootstrapCredentials(tx, tenancy, given, newUuid, now);
    return toCredentials(url, tenancy, toBootstrapFields(given));
  });
