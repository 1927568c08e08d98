// Who else may call: API keys, users and another organization, put straight into the database.

import { hash, randomBytes } from "node:crypto";
import { decodeId, encodeId, formatCredential, type CredentialKind, type Uuid } from "@keelson/contract";
import { systemClock } from "../../src/clock.ts";
import { sql } from "../../src/db/sql.ts";
import { createUuidGenerator } from "../../src/uuid.ts";
import type { ApiServer } from "./api-server.ts";

const newUuid = createUuidGenerator(systemClock);

export const newCredential = (kind: CredentialKind): { text: string; digest: Buffer } => {
  const text = formatCredential(kind, randomBytes(64));
  return { text, digest: hash("sha256", text, "buffer") };
};

export type KeyOptions = {
  permissions?: readonly string[];
  environmentId?: Uuid<"env">;
  expiresAt?: Date;
  revokedAt?: Date;
};

/** Puts an API key into the database and gives its text. */
export async function addApiKey(
  server: ApiServer,
  permissions: readonly string[],
  options: KeyOptions = {},
): Promise<string> {
  const { text, digest } = newCredential("key");
  const environmentId =
    options.environmentId ?? (decodeId("env", server.credentials.environment_id) as Uuid<"env">);
  await server.db.query(sql`
    INSERT INTO api_keys (digest, id, environment_id, name, permissions, expires_at, revoked_at)
    VALUES (${digest}, ${newUuid()}, ${environmentId}, 'test', ${permissions}::text[], ${options.expiresAt ?? null}, ${options.revokedAt ?? null})`);
  return text;
}

export type UserOptions = {
  isAdmin?: boolean;
  expiresAt?: Date;
  email?: string;
  /** Where they are a member. Default: the first organization. */
  organizationId?: Uuid<"org">;
};

/** A user with a session; `role` makes them a member of the first organization. */
export const addUser = async (
  server: ApiServer,
  role: string | null,
  options: UserOptions = {},
): Promise<string> => (await addPerson(server, role, options)).token;

/** As `addUser`, with their id. */
export async function addPerson(
  server: ApiServer,
  role: string | null,
  options: UserOptions = {},
): Promise<{ token: string; userId: string; user_id: string; email: string }> {
  const { text, digest } = newCredential("usr");
  const userId = newUuid<"user">();
  const email = options.email ?? `${userId}@example.com`;
  await server.db.query(sql`
    INSERT INTO users (id, email, name, is_admin) VALUES (${userId}, ${email}, 'Test', ${options.isAdmin ?? false})`);
  if (role !== null) {
    const organizationId = options.organizationId ?? (await firstOrganization(server));
    await server.db.query(sql`
      INSERT INTO members (organization_id, user_id, role) VALUES (${organizationId}, ${userId}, ${role})`);
  }
  await server.db.query(sql`
    INSERT INTO user_sessions (digest, id, user_id, expires_at)
    VALUES (${digest}, ${newUuid()}, ${userId}, ${options.expiresAt ?? new Date(Date.now() + 3_600_000)})`);
  return { token: text, userId, user_id: encodeId("user", userId), email };
}

/** The organization that a first start makes. */
export async function firstOrganization(server: ApiServer): Promise<Uuid<"org">> {
  const [row] = await server.db.query<{ id: Uuid<"org"> }>(sql`
    SELECT organization_id AS id FROM projects WHERE id = ${decodeId("proj", server.credentials.project_id)}`);
  return row?.id as Uuid<"org">;
}

export type Place = {
  organizationId: Uuid<"org">;
  organization_id: string;
  projectId: Uuid<"proj">;
  environmentId: Uuid<"env">;
  project_id: string;
  environment_id: string;
  workerGroupId: string;
};

/** Another organization with a project, an environment and a worker group of its own. */
export async function addForeignPlace(server: ApiServer): Promise<Place> {
  const organizationId = newUuid<"org">();
  const projectId = newUuid<"proj">();
  const environmentId = newUuid<"env">();
  const workerGroupId = newUuid<"wgrp">();
  await server.db.query(
    sql`INSERT INTO worker_groups (id, name) VALUES (${workerGroupId}, ${`foreign ${workerGroupId}`})`,
  );
  await server.db.query(
    sql`INSERT INTO organizations (id, name, slug) VALUES (${organizationId}, 'Foreign', ${`foreign-${organizationId}`})`,
  );
  await server.db.query(sql`
    INSERT INTO projects (id, organization_id, name, slug) VALUES (${projectId}, ${organizationId}, 'Foreign', 'foreign')`);
  await server.db.query(sql`
    INSERT INTO environments (id, project_id, name, slug, worker_group_id)
    VALUES (${environmentId}, ${projectId}, 'Foreign', 'foreign', ${workerGroupId})`);
  return {
    organizationId,
    organization_id: encodeId("org", organizationId),
    projectId,
    environmentId,
    project_id: encodeId("proj", projectId),
    environment_id: encodeId("env", environmentId),
    workerGroupId,
  };
}

/** The part of a query or body by which a user says where to act. */
export const place = ({ credentials }: ApiServer): { project_id: string; environment_id: string } => ({
  project_id: credentials.project_id,
  environment_id: credentials.environment_id,
});

export async function addEnrollmentToken(server: ApiServer, workerGroupId: string): Promise<string> {
  const { text, digest } = newCredential("enr");
  await server.db.query(sql`
    INSERT INTO enrollment_tokens (digest, id, worker_group_id, name) VALUES (${digest}, ${newUuid()}, ${workerGroupId}, 'test')`);
  return text;
}

export async function addServiceKey(
  server: ApiServer,
  kind: "admin" | "capacity",
  expiresAt: Date | null,
): Promise<string> {
  const { text, digest } = newCredential(kind === "admin" ? "adm" : "cap");
  await server.db.query(sql`
    INSERT INTO service_keys (digest, id, kind, name, expires_at) VALUES (${digest}, ${newUuid()}, ${kind}, 'test', ${expiresAt})`);
  return text;
}

/** Another token of the worker that the given one belongs to. */
export async function addWorkerToken(server: ApiServer, token: string, expiresAt: Date): Promise<string> {
  const { text, digest } = newCredential("wkr");
  await server.db.query(sql`
    INSERT INTO worker_tokens (digest, worker_id, expires_at)
    SELECT ${digest}, worker_id, ${expiresAt} FROM worker_tokens WHERE digest = ${hash("sha256", token, "buffer")}`);
  return text;
}
