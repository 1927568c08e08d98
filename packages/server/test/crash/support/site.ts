// A whole installation for one crash test: PostgreSQL that syncs, servers and agents, each a process of its own.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { chmod, mkdir, readFile } from "node:fs/promises";
import path from "node:path";
import type { Credentials } from "../../../src/core/identity/credentials-file.ts";
import { startEmbeddedServer, type EmbeddedServer } from "../../../src/embedded-postgres/embedded-server.ts";
import { createDatabase, type Database } from "../../../src/db/pool.ts";
import { claimPort } from "../../support/claim-port.ts";
import { layCluster } from "../../support/lay-cluster.ts";
import { until } from "../../support/until.ts";
import { makeTestFolder, removeTestFolder } from "../../support/test-folder.ts";
import { findAgentProcesses } from "./agent-processes.ts";
import { createCaller, type Caller } from "./caller.ts";
import { ALL_OUTPUT, describeProcess, type SpawnedProcess } from "./spawned-process.ts";
import { keepWitness } from "./witness.ts";

export interface ServerProcess extends SpawnedProcess {
  readonly url: string;
}

export interface AgentOptions {
  readonly name: string;
  readonly server: ServerProcess;
  readonly capacity: number;
  /** Besides what every agent is given. */
  readonly env?: Readonly<Record<string, string>>;
  /** As whom it runs. Default: as the test. */
  readonly uid?: number;
}

export interface Site {
  readonly dir: string;
  /** Where tasks may write: they have users of their own where the tests run as root. */
  readonly open: string;
  readonly postgres: EmbeddedServer;
  readonly servers: readonly ServerProcess[];
  readonly credentials: Credentials;
  /** The truth, read past the servers. */
  readonly db: Database;
  /** Calls with the API key unless told otherwise. */
  readonly call: Caller;
  /** Describes an agent; the test starts it. It ends with the site. */
  agent(options: AgentOptions): SpawnedProcess;
  stop(): Promise<void>;
}

export interface SiteOptions {
  readonly servers: number;
  readonly leaseDuration: string;
  /** Of servers and agents, whose whole output is kept then. Default `warn` and `info`. */
  readonly logLevel?: string;
  /** How long a waiting run keeps its process. Default: the server's. */
  readonly parkAfter?: string;
  /** Connections of each server to the database. */
  readonly poolSize?: number;
  /** Where mails go. Default: printed. */
  readonly smtpUrl?: string;
  /** Settings of each server besides. */
  readonly serverEnv?: Readonly<Record<string, string>>;
  /** Settings of the n-th server besides. */
  readonly serverEnvOf?: (at: number) => Readonly<Record<string, string>>;
  /** Another worker is heard all the time and takes nothing, so that a silent one is given up after its lease. */
  readonly hasWitness?: boolean;
  /** Settings of PostgreSQL besides. */
  readonly postgresSettings?: Readonly<Record<string, string>>;
  /** What the n-th server is given as its database; absent: PostgreSQL itself. */
  readonly databaseUrlOf?: (url: string, at: number) => Promise<string>;
}

export async function startSite(options: SiteOptions): Promise<Site> {
  const dir = await makeTestFolder();
  const processes: SpawnedProcess[] = [];
  let postgres: EmbeddedServer | undefined;
  let db: Database | undefined;
  let endWitness = (): Promise<void> => Promise.resolve();
  const stop = async (): Promise<void> => {
    await endWitness();
    await endProcesses(processes, dir);
    await db?.close();
    await postgres?.stop();
    await removeTestFolder(dir);
  };
  try {
    await layCluster(path.join(dir, "postgres"));
    const { postgresSettings: settings = {} } = options;
    postgres = await startEmbeddedServer({ dataDir: path.join(dir, "postgres"), settings });
    const dataDir = path.join(dir, "data");
    const open = path.join(dir, "open");
    await mkdir(open);
    await chmod(open, 0o777);
    const servers: ServerProcess[] = [];
    for (let at = 0; at < options.servers; at += 1) {
      const url = (await options.databaseUrlOf?.(postgres.url, at)) ?? postgres.url;
      const server = await describeServer(at, url, dataDir, options);
      processes.push(server);
      servers.push(server);
      // One after the other: the first makes the tables, if there are none, and the tenancy.
      await server.start();
    }
    const credentials = JSON.parse(
      await readFile(path.join(dataDir, "credentials.json"), "utf8"),
    ) as Credentials;
    db = createDatabase({
      ...{ url: postgres.url, poolSize: 2, statementNames: false },
      onConnectionLost: () => undefined,
    });
    const site: Site = {
      dir,
      open,
      postgres,
      servers,
      credentials,
      db,
      call: createCaller(credentials.api_key),
      agent: (described) => {
        const agent = describeAgent(described, credentials, dir, options);
        processes.push(agent);
        return agent;
      },
      stop,
    };
    if (options.hasWitness === true) endWitness = await keepWitness(site);
    return site;
  } catch (error) {
    await stop();
    throw error;
  }
}

function describeAgent(
  { name, server, capacity, env, uid }: Parameters<Site["agent"]>[0],
  { enrollment_token: enrollmentToken }: Credentials,
  dir: string,
  { logLevel }: SiteOptions,
): SpawnedProcess {
  return describeProcess({
    name,
    main: "agent/src/main.ts",
    readyWhen: /agent started|waiting for the server/,
    env: {
      KEELSON_URL: server.url,
      KEELSON_ENROLLMENT_TOKEN: enrollmentToken,
      KEELSON_AGENT_NAME: name.replace(" ", "-"),
      KEELSON_AGENT_CAPACITY: String(capacity),
      KEELSON_DATA_DIR: path.join(dir, "agents"),
      ...(logLevel === undefined ? {} : { KEELSON_LOG_LEVEL: logLevel }),
      ...env,
    },
    ...(logLevel !== undefined && { keptOutput: ALL_OUTPUT }),
    ...(uid === undefined ? {} : { uid }),
  });
}

/** A supervisor outlives an agent that is killed: the next one of its name might take up what it holds. */
async function endProcesses(processes: readonly SpawnedProcess[], dir: string): Promise<void> {
  await Promise.all(processes.map((running) => running.end()));
  endSupervisors({ dir });
}

/** Ends what agents that have been killed left running, commands first. */
export function endSupervisors(site: Pick<Site, "dir">): void {
  const { supervisors, execs } = findAgentProcesses(site);
  for (const pid of [...execs(), ...supervisors()]) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has just ended.
    }
  }
}

async function describeServer(
  at: number,
  databaseUrl: string,
  dataDir: string,
  { leaseDuration, logLevel, parkAfter, poolSize, smtpUrl, serverEnv, serverEnvOf }: SiteOptions,
): Promise<ServerProcess> {
  // The same port in every life, as behind a service's fixed address.
  const port = await claimPort();
  const described = describeProcess({
    name: `server ${at + 1}`,
    main: "server/src/main.ts",
    readyWhen: /listening on /,
    env: {
      DATABASE_URL: databaseUrl,
      PORT: String(port),
      HOST: "127.0.0.1",
      KEELSON_DATA_DIR: dataDir,
      KEELSON_LEASE_DURATION: leaseDuration,
      KEELSON_LOG_LEVEL: logLevel ?? "warn",
      ...(smtpUrl !== undefined && { SMTP_URL: smtpUrl }),
      ...(parkAfter !== undefined && { KEELSON_PARK_AFTER: parkAfter }),
      ...(poolSize === undefined ? {} : { KEELSON_POOL_SIZE: String(poolSize) }),
      ...serverEnv,
      ...serverEnvOf?.(at),
    },
    ...(logLevel !== undefined && { keptOutput: ALL_OUTPUT }),
  });
  return Object.defineProperty(described, "url", { value: `http://127.0.0.1:${port}` }) as ServerProcess;
}

export interface TaskDeclaration {
  readonly id: string;
  readonly execution?: "exclusive" | "shared";
  readonly secrets?: readonly string[];
  readonly payload_schema?: unknown;
}

/**
 * Uploads a bundle and creates a deployment; somebody must check it before it can be promoted.
 *
 * @param as the API key of another environment than the site's
 */
export async function createDeployment(
  site: Site,
  bundle: string,
  tasks: readonly TaskDeclaration[],
  as = site.credentials.api_key,
  others: { actors?: readonly object[]; queues?: readonly object[] } = {},
): Promise<string> {
  const { url } = site.servers[0] as ServerProcess;
  const digest = createHash("sha256").update(bundle).digest("hex");
  const uploaded = await site.call(url, "PUT", `/v1/deployment-bundles/${digest}`, {
    as,
    bytes: Buffer.from(bundle),
  });
  assert.equal(uploaded.status, 200, JSON.stringify(uploaded.body));
  const created = await site.call(url, "POST", "/v1/deployments", {
    as,
    body: {
      manifest: { tasks, actors: [], ...others },
      bundle_digest: digest,
      bundle_format_version: 1,
      worker_protocol_version: 1,
    },
  });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  return created.body.id as string;
}

/** Waits for the check of a deployment and makes it the current one. */
export async function promoteWhenReady(
  site: Site,
  deploymentId: string,
  as = site.credentials.api_key,
): Promise<void> {
  const { url } = site.servers[0] as ServerProcess;
  await until(`the deployment is checked`, 20_000, async () => {
    const { body } = await site.call(url, "GET", `/v1/deployments/${deploymentId}`, { as });
    assert.notEqual(body.status, "failed", JSON.stringify(body.error));
    return body.status === "ready";
  });
  const promoted = await site.call(url, "POST", `/v1/deployments/${deploymentId}/promote`, { as });
  assert.equal(promoted.status, 200, JSON.stringify(promoted.body));
}
