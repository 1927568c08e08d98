// What the fuzzer is told of workspaces: some with files, and one to be deleted.

import assert from "node:assert/strict";
import { encodeId } from "@keelson/contract";
import type { ApiServer } from "../../support/api-server.ts";

const MISSING = "00000000-0000-7000-8000-000000000000";

export type FuzzWorkspaces = {
  readonly known: Record<string, unknown[]>;
  /** Workspaces or sandboxes for the operation of a path; null where it names neither. */
  readonly idsFor: (path: string, operationId: string) => string[] | null;
};

export async function makeFuzzWorkspaces(server: ApiServer): Promise<FuzzWorkspaces> {
  const workspace = await server.call("POST", "/api/workspaces", { body: { tags: ["fuzz"] } });
  const spare = await server.call("POST", "/api/workspaces", { body: {} });
  const written = await server.call(
    "PUT",
    `/api/workspaces/${workspace.body.id}/files/content?path=dir/file`,
    { bytes: Buffer.from("content") },
  );
  assert.equal(written.status, 201, written.text);
  const sandboxes = await server.call("GET", "/v1/sandboxes");
  // In a workspace of its own: files cannot be written while something waits to run.
  const running = await server.call("POST", "/api/workspaces", { body: {} });
  const processes = `/api/workspaces/${running.body.id}`;
  const exec = await server.call("POST", `${processes}/execs`, { body: { command: ["true"] } });
  const pty = await server.call("POST", `${processes}/pty`, { body: {} });
  const versions = [written.body.version_id, workspace.body.current_version_id];
  return {
    known: {
      version_id: [...versions, encodeId("wsv", MISSING)],
      base: [...versions, encodeId("wsv", MISSING)],
      from_version_id: versions,
      parent_version_id: versions,
      path: ["", "dir", "dir/file", "../x", "dir//x", "a\0b", "new/file"],
      sandbox: ["default", "absent"],
      exec_id: [exec.body.id, encodeId("exec", MISSING)],
      process_id: [exec.body.id, pty.body.id, encodeId("exec", MISSING)],
      pty_id: [pty.body.id, encodeId("pty", MISSING)],
    },
    idsFor: (path, operationId) => {
      if (!/\/(workspaces|sandboxes)\//.test(path)) return null;
      if (/\/(execs|pty|exec\/)/.test(path)) return [running.body.id, encodeId("ws", MISSING)];
      if (path.includes("/sandboxes/")) return sandboxes.body.sandboxes.map(({ id }: { id: string }) => id);
      if (operationId.endsWith("eleteWorkspace")) return [spare.body.id, encodeId("ws", MISSING)];
      // No worker takes it: a connection would wait for its 30 s, a command for its minute.
      if (path.endsWith("/connect") || path.endsWith("/exec")) return [encodeId("ws", MISSING)];
      return [workspace.body.id, encodeId("ws", MISSING)];
    },
  };
}
