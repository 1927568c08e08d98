import type { CreateSandboxWorkspace } from "@keelson/contract";
import type { Workspace } from "./resources.ts";
import { callOptions, type CallOptions } from "./exchange.ts";
import { randomKey } from "./random.ts";
import type { Transport } from "./transport.ts";
import { workspaceShape } from "./wire-shapes.ts";

export type NewWorkspace = {
  /** Yours, of one active workspace of the environment at a time. */
  externalId?: string;
  /** A fork: begins with the files of this version, of any workspace of the environment. */
  fromVersionId?: string;
  metadata?: Record<string, unknown>;
  /** Up to 20, of 1 to 128 characters. */
  tags?: readonly string[];
  /**
   * A repeated request with the same key returns the first workspace. By default the client makes a key, so that it can
   * repeat the request safely.
   */
  idempotencyKey?: string;
};

const toWireWorkspace = (workspace: NewWorkspace): CreateSandboxWorkspace => ({
  ...(workspace.externalId !== undefined && { external_id: workspace.externalId }),
  ...(workspace.fromVersionId !== undefined && { from_version_id: workspace.fromVersionId }),
  ...(workspace.metadata !== undefined && { metadata: workspace.metadata }),
  ...(workspace.tags !== undefined && { tags: [...workspace.tags] }),
  idempotency_key: workspace.idempotencyKey ?? randomKey(),
});

export const createWorkspaceAt = (
  transport: Transport,
  path: string,
  workspace: NewWorkspace,
  further: { sandbox?: string },
  options: CallOptions,
): Promise<Workspace> =>
  transport.ask(workspaceShape, {
    method: "POST",
    path,
    body: { json: { ...further, ...toWireWorkspace(workspace) } },
    repeatable: true,
    ...callOptions(options),
  });
