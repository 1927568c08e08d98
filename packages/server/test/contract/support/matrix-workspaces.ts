// What the authorization matrix asks workspaces about.

import assert from "node:assert/strict";
import type { Answer, ApiServer } from "../../support/api-server.ts";
import type { Ids } from "../authorization-rows.ts";
import { ABSENT } from "./unknown-ids.ts";

type WorkspaceIds = Pick<
  Ids,
  "workspace" | "version" | "doomed" | "sandbox" | "running" | "exec" | "pty" | "materialization"
>;

export async function makeWorkspaces(view: ApiServer): Promise<WorkspaceIds> {
  const [workspace, doomed] = [await newWorkspace(view), await newWorkspace(view)];
  const written = await view.call("PUT", `/api/workspaces/${workspace.id}/files/content?path=readme.txt`, {
    bytes: new TextEncoder().encode("hello"),
  });
  assert.equal(written.status, 201, written.text);
  return {
    workspace: workspace.id,
    version: written.body.version_id,
    doomed: doomed.id,
    sandbox: await defaultSandbox(view),
    // Nobody has one.
    materialization: ABSENT.materialization,
    ...(await newProcesses(view)),
  };
}

async function newWorkspace(view: ApiServer): Promise<Answer["body"]> {
  const created = await view.call("POST", "/api/workspaces", { body: {} });
  assert.equal(created.status, 201, created.text);
  return created.body;
}

/** In a workspace of their own: it cannot be written to while they wait for a machine. */
async function newProcesses(view: ApiServer): Promise<Pick<WorkspaceIds, "running" | "exec" | "pty">> {
  const { id } = await newWorkspace(view);
  const exec = await view.call("POST", `/api/workspaces/${id}/execs`, { body: { command: ["true"] } });
  const pty = await view.call("POST", `/api/workspaces/${id}/pty`, { body: {} });
  assert.deepEqual([exec.status, pty.status], [201, 201], exec.text + pty.text);
  return { running: id, exec: exec.body.id, pty: pty.body.id };
}

async function defaultSandbox(view: ApiServer): Promise<string> {
  const { body } = await view.call("GET", "/v1/sandboxes");
  return body.sandboxes.find((sandbox: { declared_id: string }) => sandbox.declared_id === "default").id;
}
