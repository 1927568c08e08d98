import { spawn } from "node:child_process";
import { mkdir, open, readFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import path from "node:path";
import { once } from "node:events";
import type { CreatedApiKey, Environment, Isolation } from "@keelson/contract";
import { programOf } from "../harness/build-programs.ts";
import { watchChild, type Child } from "../harness/child.ts";
import { openApi, waitFor, type Api } from "./api.ts";

/** A server, each in its own process as it is deployed, and the agents that were asked for. */
export type Keelson = {
  port: number;
  url: string;
  apiKey: string;
  enrollmentToken: string;
  server: Child;
  api: Api;
  /**
   * Spawns an agent with that many slots; it is at work once the first run has been leased. In the process tier it does not
   * see bubblewrap, for which the benchmark has to run as root.
   */
  startAgent(capacity: number, tier?: Isolation): Promise<Child>;
  /** The same with the key of another environment. */
  as(apiKey: string): Keelson;
  /** Makes an environment beside the first one. @returns an API key of it. */
  addEnvironment(name: string): Promise<string>;
  stop(): Promise<void>;
};

type Credentials = { api_key: string; enrollment_token: string; user_token: string; project_id: string };

let agents = 0;

/** Gives a program a view of the machine in which bubblewrap is not to be run. */
const HIDE_BUBBLEWRAP = [
  ...["unshare", "--mount", "sh", "-c"],
  'found=$(command -v bwrap) && { mount --bind /dev/null "$found" || exit 1; }; exec "$@"',
  "sh",
];

/** Starts a server on the data folder; `databaseUrl` absent: with its own built-in PostgreSQL. Resolves when it is ready. */
export async function startKeelson(dataDir: string, databaseUrl?: string): Promise<Keelson> {
  await mkdir(dataDir, { recursive: true, mode: 0o755 });
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const server = await startProgram("server", path.join(dataDir, "server.log"), {
    PORT: String(port),
    HOST: "127.0.0.1",
    KEELSON_DATA_DIR: dataDir,
    ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
  });
  const isReady = async (): Promise<boolean> => {
    if (server.process.exitCode !== null)
      throw new Error(
        `the server ended with exit code ${server.process.exitCode}; see ${dataDir}/server.log:\n${await lastLines(path.join(dataDir, "server.log"))}`,
      );
    return fetch(`${url}/readyz`).then(
      (response) => response.ok,
      () => false,
    ); // Refused until it listens.
  };
  await waitFor("the server to be ready", 30_000, isReady);
  const credentials = JSON.parse(
    await readFile(path.join(dataDir, "credentials.json"), "utf8"),
  ) as Credentials;
  const api = openApi(url, credentials.api_key);
  const children = new Set<Child>();

  const keelson: Keelson = {
    port,
    url,
    apiKey: credentials.api_key,
    enrollmentToken: credentials.enrollment_token,
    server,
    api,
    as: (apiKey) => ({ ...keelson, apiKey, api: openApi(url, apiKey) }),
    async startAgent(capacity, tier = "namespace") {
      agents += 1;
      const agentDir = path.join(dataDir, `agent-${agents}`);
      await mkdir(agentDir, { recursive: true });
      const agent = await startProgram(
        "agent",
        path.join(agentDir, "agent.log"),
        {
          KEELSON_URL: url,
          KEELSON_ENROLLMENT_TOKEN: credentials.enrollment_token,
          KEELSON_AGENT_CAPACITY: String(capacity),
          KEELSON_DATA_DIR: agentDir,
        },
        tier === "process" ? HIDE_BUBBLEWRAP : [],
      );
      children.add(agent);
      return agent;
    },
    async addEnvironment(name) {
      const person = openApi(url, credentials.user_token);
      const environments = `/api/projects/${credentials.project_id}/environments`;
      const { id } = await person.call<Environment>("POST", environments, { name });
      const { api_key } = await person.call<CreatedApiKey>("POST", `${environments}/${id}/api-keys`, {
        name,
      });
      return api_key;
    },
    async stop() {
      await Promise.all([...children].map((child) => child.stop()));
      await server.stop();
    },
  };
  return keelson;
}

/** Spawns the built program of `packages/<name>` with only the given settings, its output in a file. */
async function startProgram(
  name: "server" | "agent",
  logFile: string,
  settings: Record<string, string>,
  wrapper: readonly string[] = [],
): Promise<Child> {
  const log = await open(logFile, "a");
  const { PATH, HOME } = process.env;
  const [program, ...args] = [...wrapper, process.execPath, programOf(name)];
  const child = spawn(program, args, {
    env: { PATH, HOME, ...settings },
    stdio: ["ignore", log.fd, log.fd],
  });
  await once(child, "spawn");
  await log.close();
  return watchChild(child, name);
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

async function lastLines(file: string): Promise<string> {
  return (await readFile(file, "utf8")).split("\n").slice(-20).join("\n");
}
