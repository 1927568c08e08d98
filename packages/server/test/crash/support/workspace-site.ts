// A site whose agents hold workspaces, and what a test does with them over HTTP.

import assert from "node:assert/strict";
import { startSite, until, type ServerProcess, type Site, type SiteOptions } from "./site.ts";
import type { Answer } from "./caller.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Body = any;

export type WorkspaceSite = Site & {
  readonly url: string;
  create(body?: object): Promise<Body>;
  get(workspace: string): Promise<Body>;
  write(workspace: string, path: string, content: string): Promise<void>;
  /** The text of a file, or the status and code of the refusal. */
  read(workspace: string, path: string, query?: string): Promise<string>;
  files(workspace: string, query?: string): Promise<string[]>;
  versions(workspace: string): Promise<Body[]>;
  /** Runs a shell command to its end; `out` and `err` are its output as text. */
  exec(workspace: string, script: string, extra?: object): Promise<Body>;
  /** A process at its path. */
  process(path: string): Promise<Body>;
  act(workspace: string, verb: "materialize" | "connect" | "stop"): Promise<Answer>;
  /** Resolves with the workspace once its materialization has that status. */
  untilStatus(workspace: string, status: string, timeoutMs?: number): Promise<Body>;
};

export async function startWorkspaceSite(options: Partial<SiteOptions> = {}): Promise<WorkspaceSite> {
  const site = await startSite({ servers: 1, leaseDuration: "6s", ...options });
  const { url } = site.servers[0] as ServerProcess;
  const call = (method: string, path: string, extra: object = {}): Promise<Answer> =>
    site.call(url, method, path, { timeoutMs: 40_000, ...extra });
  const at = (workspace: string, rest: string): string => `/api/workspaces/${workspace}${rest}`;
  const get = async (workspace: string): Promise<Body> => (await call("GET", at(workspace, ""))).body;
  return Object.assign(site, {
    url,
    get,
    create: async (body: object = {}) => {
      const answer = await call("POST", "/api/workspaces", { body });
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      return answer.body;
    },
    write: async (workspace: string, path: string, content: string) => {
      const answer = await call("PUT", at(workspace, `/files/content?path=${encodeURIComponent(path)}`), {
        bytes: Buffer.from(content),
      });
      assert.ok(answer.status === 200 || answer.status === 201, JSON.stringify(answer.body));
    },
    read: async (workspace: string, path: string, query = "") => {
      const response = await fetch(
        `${url}${at(workspace, `/files/content?path=${encodeURIComponent(path)}${query}`)}`,
        { headers: { authorization: `Bearer ${site.credentials.api_key}` } },
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
    exec: async (workspace: string, script: string, extra: object = {}) => {
      const { status, body } = await call("POST", `/v1/workspaces/${workspace}/exec`, {
        body: { command: ["sh", "-c", script], ...extra },
        timeoutMs: 90_000,
      });
      assert.equal(status, 200, JSON.stringify(body));
      const text = (base64: string): string => Buffer.from(base64, "base64").toString();
      return { ...body, out: text(body.stdout), err: text(body.stderr) };
    },
    process: async (path: string) => (await call("GET", path)).body,
    act: (workspace: string, verb: string) => call("POST", at(workspace, `/${verb}`)),
    untilStatus: async (workspace: string, status: string, timeoutMs = 20_000) => {
      let seen: Body = null;
      await until(`the workspace is ${status}`, timeoutMs, async () => {
        seen = await get(workspace);
        return seen.materialization?.status === status;
      });
      return seen;
    },
  });
}
