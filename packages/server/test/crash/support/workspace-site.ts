// A site whose agents hold workspaces, and what a test does with them over HTTP.

import assert from "node:assert/strict";
import { chown, mkdir, readdir } from "node:fs/promises";
import path from "node:path";
import { startSite, type ServerProcess, type Site, type SiteOptions } from "./site.ts";
import { until } from "../../support/until.ts";
import type { Answer } from "./caller.ts";
import type { SpawnedProcess } from "./spawned-process.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Body = any;

/** An agent, and the folder of its workspaces. */
export type WorkspaceAgent = SpawnedProcess & { readonly folder: string };

export type WorkspaceSite = Site & {
  readonly url: string;
  /** Starts an agent more. Default capacity 2; with a uid, as that user and with a data folder of its own. */
  startAgent(capacity?: number, uid?: number): Promise<WorkspaceAgent>;
  /** Kills all agents that were started so far. */
  killAgents(): Promise<void>;
  create(body?: object): Promise<Body>;
  get(workspace: string): Promise<Body>;
  write(workspace: string, path: string, content: string): Promise<void>;
  /** The text of a file, or the status and code of the refusal. */
  read(workspace: string, path: string, query?: string): Promise<string>;
  files(workspace: string, query?: string): Promise<string[]>;
  versions(workspace: string): Promise<Body[]>;
  /** Runs a shell command to its end; `out` and `err` are its output as text. */
  exec(workspace: string, script: string, extra?: object): Promise<Body>;
  /** Starts a shell command that goes on; resolves with its path once it has printed something. */
  startExec(workspace: string, script: string): Promise<string>;
  /** A process at its path. */
  process(path: string): Promise<Body>;
  /** Resolves with a process once it is over. */
  untilOver(path: string): Promise<Body>;
  /** What it has printed, as far as it is kept. */
  output(path: string): Promise<string>;
  act(
    workspace: string,
    verb: "materialize" | "connect" | "stop" | "recover" | "discard",
    body?: object,
  ): Promise<Answer>;
  /** Resolves with the workspace once its materialization has that status. */
  untilStatus(workspace: string, status: string, timeoutMs?: number): Promise<Body>;
};

type Call = (method: string, path: string, extra?: object) => Promise<Answer>;

const at = (workspace: string, rest: string): string => `/api/workspaces/${workspace}${rest}`;

export async function startWorkspaceSite(options: Partial<SiteOptions> = {}): Promise<WorkspaceSite> {
  const site = await startSite({ servers: 1, leaseDuration: "15s", ...options });
  const server = site.servers[0] as ServerProcess;
  const { url } = server;
  const call: Call = (method, path, extra = {}) =>
    site.call(url, method, path, { timeoutMs: 40_000, ...extra });
  const get = async (workspace: string): Promise<Body> => (await call("GET", at(workspace, ""))).body;
  const agents: SpawnedProcess[] = [];
  return Object.assign(site, {
    url,
    get,
    startAgent: async (capacity = 2, uid?: number) => {
      const number = agents.length + 1;
      const dataDir = path.join(
        uid === undefined ? site.dir : site.open,
        uid === undefined ? "agents" : `of-${number}`,
      );
      const own = uid === undefined ? {} : { uid, env: { KEELSON_DATA_DIR: dataDir } };
      if (uid !== undefined) {
        await mkdir(dataDir);
        await chown(dataDir, uid, uid);
      }
      const agent = site.agent({ name: `agent ${number}`, server, capacity, ...own });
      agents.push(agent);
      await agent.start();
      const folder = path.join(dataDir, "agents", `agent-${number}-1`, "workspaces");
      return Object.defineProperty(agent, "folder", { value: folder }) as WorkspaceAgent;
    },
    killAgents: async () => {
      await Promise.all(agents.map((agent) => agent.kill()));
    },
    create: async (body: object = {}) => {
      const answer = await call("POST", "/api/workspaces", { body });
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      return answer.body;
    },
    ...fileCalls(call, url, site.credentials.api_key),
    ...processCalls(call),
    act: (workspace: string, verb: string, body?: object) =>
      call("POST", at(workspace, `/${verb}`), body === undefined ? {} : { body }),
    untilStatus: async (workspace: string, status: string, timeoutMs = 40_000) => {
      let seen: Body = null;
      await until(`the workspace is ${status}`, timeoutMs, async () => {
        seen = await get(workspace);
        return seen.materialization?.status === status;
      });
      return seen;
    },
  });
}

function fileCalls(call: Call, url: string, apiKey: string) {
  return {
    write: async (workspace: string, path: string, content: string) => {
      const answer = await call("PUT", at(workspace, `/files/content?path=${encodeURIComponent(path)}`), {
        bytes: Buffer.from(content),
      });
      assert.ok(answer.status === 200 || answer.status === 201, JSON.stringify(answer.body));
    },
    read: async (workspace: string, path: string, query = "") => {
      const response = await fetch(
        `${url}${at(workspace, `/files/content?path=${encodeURIComponent(path)}${query}`)}`,
        { headers: { authorization: `Bearer ${apiKey}` } },
      );
      if (response.ok) return response.text();
      const { error } = (await response.json()) as { error: { code: string } };
      return `${response.status} ${error.code}`;
    },
    files: async (workspace: string, query = "") => {
      const answer = await call("GET", at(workspace, `/files?${query}`));
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      return answer.body.files.map(({ path, kind }: Body) => `${kind} ${path}`);
    },
    versions: async (workspace: string) => (await call("GET", at(workspace, "/versions"))).body.versions,
  };
}

function processCalls(call: Call) {
  const process = async (path: string): Promise<Body> => (await call("GET", path)).body;
  return {
    exec: async (workspace: string, script: string, extra: object = {}) => {
      const { status, body } = await call("POST", `/v1/workspaces/${workspace}/exec`, {
        body: { command: ["sh", "-c", script], ...extra },
        timeoutMs: 90_000,
      });
      assert.equal(status, 200, JSON.stringify(body));
      const text = (base64: string): string => Buffer.from(base64, "base64").toString();
      return { ...body, out: text(body.stdout), err: text(body.stderr) };
    },
    startExec: async (workspace: string, script: string) => {
      const { status, body } = await call("POST", at(workspace, "/execs"), {
        body: { command: ["sh", "-c", script] },
      });
      assert.equal(status, 201, JSON.stringify(body));
      const path = at(workspace, `/execs/${body.id}`);
      await until("the command prints", 40_000, async () => (await process(path)).stdout.bytes > 0);
      return path;
    },
    process,
    untilOver: async (path: string) => {
      await until("the process is over", 60_000, async () => (await process(path)).finished_at !== null);
      return process(path);
    },
    output: async (path: string) => {
      const { body } = await call("GET", path);
      return body.chunks.map(({ data }: Body) => Buffer.from(data, "base64").toString()).join("");
    },
  };
}

/** Where the agent has the files of the only workspace it holds. */
export async function filesOf({ folder }: WorkspaceAgent): Promise<string> {
  const names = await readdir(folder);
  assert.equal(names.length, 1, names.join(", "));
  return path.join(folder, names[0] as string, "files");
}
