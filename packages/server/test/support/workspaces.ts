// Workspaces as a test needs them: made, written and read over HTTP.

import assert from "node:assert/strict";
import type { Answer, ApiServer } from "./api-server.ts";

export type WorkspaceCalls = {
  create(body?: object): Promise<Answer["body"]>;
  write(
    workspace: string,
    path: string,
    content: string | Uint8Array,
    query?: string,
  ): Promise<Answer["body"]>;
  /** The text of a file, or the status and code of the refusal. */
  read(workspace: string, path: string, query?: string): Promise<string>;
  files(workspace: string, query?: string): Promise<string[]>;
};

export function workspaceCalls(server: ApiServer): WorkspaceCalls {
  const at = (workspace: string, rest: string): string => `/api/workspaces/${workspace}${rest}`;
  return {
    create: async (body = {}) => {
      const answer = await server.call("POST", "/api/workspaces", { body });
      assert.equal(answer.status, 201, answer.text);
      return answer.body;
    },
    write: async (workspace, path, content, query = "") => {
      const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
      const answer = await server.call(
        "PUT",
        at(workspace, `/files/content?path=${encodeURIComponent(path)}${query}`),
        { bytes },
      );
      assert.ok(answer.status === 201 || answer.status === 200, answer.text);
      return answer.body;
    },
    read: async (workspace, path, query = "") => {
      const answer = await server.call(
        "GET",
        at(workspace, `/files/content?path=${encodeURIComponent(path)}${query}`),
      );
      return answer.status === 200 ? answer.text : `${answer.status} ${answer.body.error.code}`;
    },
    files: async (workspace, query = "") => {
      const answer = await server.call("GET", at(workspace, `/files?${query}`));
      assert.equal(answer.status, 200, answer.text);
      return answer.body.files.map(({ path, kind }: { path: string; kind: string }) => `${kind} ${path}`);
    },
  };
}
