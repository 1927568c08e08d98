// A whole server for a test file: real HTTP on a free port, on a database of its own.

import { hash, randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { decodeId, encodeId, formatCredential, type CredentialKind } from "@keelson/contract";
import { systemClock } from "../../src/clock.ts";
import { createDatabase, type Database } from "../../src/db/pool.ts";
import { sql } from "../../src/db/sql.ts";
import { startServer, type RunningServer } from "../../src/server.ts";
import { createUuidGenerator } from "../../src/uuid.ts";
import { createTestDatabase } from "./database.ts";
import { makeTestFolder } from "./test-folder.ts";

export type Answer = {
  status: number;
  headers: Headers;
  text: string;
  /** The parsed body; undefined when it is not JSON. */
  body: any;
};

export type RequestOptions = {
  method?: string;
  /** A credential; null sends none. Default: the API key of the first start. */
  as?: string | null;
  body?: unknown;
  headers?: Record<string, string>;
};

export interface TestServer extends RunningServer {
  /** For what only the database can do to a server. */
  readonly db: Database;
  readonly databaseUrl: string;
  request(path: string, options?: RequestOptions): Promise<Answer>;
  stop(): Promise<void>;
}

/** Starts a server; call `stop` in an `after` hook. */
export async function startTestServer(): Promise<TestServer> {
  const [database, dataDir] = await Promise.all([createTestDatabase(), makeTestFolder()]);
  const server = await startServer({
    host: "127.0.0.1",
    port: 0,
    databaseUrl: database.url,
    databaseDirectUrl: null,
    databasePoolSize: 8,
    databaseStatementNames: true,
    dataDir,
    publicUrl: null,
    leaseDurationMs: 6_000,
    logLevel: "silent",
  });
  const db = createDatabase({ url: database.url, poolSize: 2, statementNames: false });
  return {
    ...server,
    db,
    databaseUrl: database.url,
    request: (path, options = {}) => send(server.url, path, { as: server.credentials.api_key, ...options }),
    stop: async () => {
      await server.close();
      await db.close();
      await database.drop();
      await rm(dataDir, { recursive: true });
    },
  };
}

async function send(
  url: string,
  path: string,
  { method, as, body, headers }: RequestOptions,
): Promise<Answer> {
  const isJson = body !== undefined && typeof body !== "string" && !(body instanceof Uint8Array);
  const response = await fetch(url + path, {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: {
      ...(as == null ? {} : { authorization: `Bearer ${as}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: (isJson ? JSON.stringify(body) : body) as BodyInit }),
  });
  const text = await response.text();
  const json = response.headers.get("content-type")?.startsWith("application/json") === true && text !== "";
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: json ? JSON.parse(text) : undefined,
  };
}

const newUuid = createUuidGenerator(systemClock);

export const newCredential = (kind: CredentialKind): { text: string; digest: Buffer } => {
  const text = formatCredential(kind, randomBytes(64));
  return { text, digest: hash("sha256", text, "buffer") };
};

export type KeyOptions = {
  permissions?: readonly string[];
  environmentId?: string;
  expiresAt?: Date;
  revokedAt?: Date;
};

/** Puts an API key into the database and gives its text. */
export async function addApiKey(
  server: TestServer,
  permissions: readonly string[],
  options: KeyOptions = {},
): Promise<string> {
  const { text, digest } = newCredential("key");
  const environmentId =
    options.environmentId ?? (decodeId("env", server.credentials.environment_id) as string);
  await server.db.query(sql`
    INSERT INTO api_keys (digest, id, environment_id, name, permissions, expires_at, revoked_at)
    VALUES (${digest}, ${newUuid()}, ${environmentId}, 'test', ${permissions}::text[], ${options.expiresAt ?? null}, ${options.revokedAt ?? null})`);
  return text;
}

/** A user with a session; `role` makes them a member of the first organization. */
export async function addUser(
  server: TestServer,
  role: string | null,
  options: { isAdmin?: boolean; expiresAt?: Date } = {},
): Promise<string> {
  const { text, digest } = newCredential("usr");
  const userId = newUuid();
  await server.db.query(sql`
    INSERT INTO users (id, email, name, is_admin) VALUES (${userId}, ${`${userId}@example.com`}, 'Test', ${options.isAdmin ?? false})`);
  if (role !== null) {
    await server.db.query(sql`
      INSERT INTO members (organization_id, user_id, role)
      SELECT organization_id, ${userId}, ${role} FROM projects WHERE id = ${decodeId("proj", server.credentials.project_id)}`);
  }
  await server.db.query(sql`
    INSERT INTO user_sessions (digest, id, user_id, expires_at)
    VALUES (${digest}, ${newUuid()}, ${userId}, ${options.expiresAt ?? new Date(Date.now() + 3_600_000)})`);
  return text;
}

export type Place = {
  projectId: string;
  environmentId: string;
  project_id: string;
  environment_id: string;
  workerGroupId: string;
};

/** Another organization with a project, an environment and a worker group of its own. */
export async function addForeignPlace(server: TestServer): Promise<Place> {
  const [organizationId, projectId, environmentId, workerGroupId] = [
    newUuid(),
    newUuid(),
    newUuid(),
    newUuid(),
  ] as const;
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
    projectId,
    environmentId,
    project_id: encodeId("proj", projectId),
    environment_id: encodeId("env", environmentId),
    workerGroupId,
  };
}

/** The part of a query or body by which a user says where to act. */
export const place = ({ credentials }: RunningServer): { project_id: string; environment_id: string } => ({
  project_id: credentials.project_id,
  environment_id: credentials.environment_id,
});
