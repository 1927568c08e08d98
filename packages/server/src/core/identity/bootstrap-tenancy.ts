import { hash } from "node:crypto";
import { ENVIRONMENT_PERMISSIONS } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import type { NewUuid } from "../../uuid.ts";
import type { BootstrapCredentials } from "./bootstrap-credentials.ts";
import {
  findFirstTenancy,
  findRevocation,
  insertBootstrapCredentials,
  insertEnrollmentToken,
  insertTenancy,
  lockBootstrap,
  type FirstProject,
  type Tenancy,
} from "./bootstrap-writes.ts";

export type { FirstProject, Tenancy };
export const DEFAULT_PROJECT: FirstProject = { name: "Default", slug: "default" };

const DAY_MS = 86_400_000;
/** The login link's session; a new one is made whenever the credentials file is. */
const USER_SESSION_MS = 30 * DAY_MS;

/** Finds the first organization's first environment, or makes organization, project, environments and owner. */
export async function ensureTenancy(
  tx: Tx,
  newUuid: NewUuid,
  project: FirstProject,
): Promise<Tenancy & { isNew: boolean }> {
  await lockBootstrap(tx);
  const found = await findFirstTenancy(tx);
  if (found !== null) return { ...found, isNew: false };
  const organizationId = newUuid<"org">();
  const tenancy = { projectId: newUuid<"proj">(), environmentId: newUuid<"env">() };
  const productionId = newUuid<"env">();
  const made = { ...tenancy, workerGroupId: newUuid<"wgrp">(), userId: newUuid<"user">() };
  await insertTenancy(tx, made, { organizationId, productionId }, project);
  return { ...made, isNew: true };
}

/** Makes the credentials valid, those of an operator for the whole installation, the API key in the first environment. */
export async function storeBootstrapCredentials(
  tx: Tx,
  tenancy: Tenancy,
  credentials: BootstrapCredentials,
  newUuid: NewUuid,
  now: number,
): Promise<void> {
  const { apiKey, userToken, adminKey, capacityKey, enrollmentToken } = credentials;
  await insertBootstrapCredentials(tx, tenancy, {
    apiKey: { digest: digestOf(apiKey), id: newUuid(), permissions: ENVIRONMENT_PERMISSIONS },
    userSession: { digest: digestOf(userToken), id: newUuid(), expiresAt: now + USER_SESSION_MS },
    adminKey: { digest: digestOf(adminKey), id: newUuid() },
    capacityKey: { digest: digestOf(capacityKey), id: newUuid() },
    enrollmentToken: { digest: digestOf(enrollmentToken), id: newUuid() },
  });
}

/** Makes another enrollment token valid; the other credentials stay as they are. */
export const storeEnrollmentToken = (
  tx: Tx,
  tenancy: Tenancy,
  enrollmentToken: string,
  newUuid: NewUuid,
): Promise<void> => insertEnrollmentToken(tx, tenancy, { digest: digestOf(enrollmentToken), id: newUuid() });

const digestOf = (credential: string): Buffer => hash("sha256", credential, "buffer");

/** Whether a set of credentials, known by its enrollment token, was stored: it is valid, or was revoked since. */
export async function findEnrollment(
  tx: Tx,
  enrollmentToken: string,
): Promise<"absent" | "valid" | "revoked"> {
  const isRevoked = await findRevocation(tx, digestOf(enrollmentToken));
  if (isRevoked === null) return "absent";
  return isRevoked ? "revoked" : "valid";
}
