import type { CreateSandboxWorkspace, Workspace } from "@keelson/contract";
import { callOptions, type CallOptions } from "./exchange.ts";
import { randomKey } from "./random.ts";
import type { Transport } from "./transport.ts";

export type NewWorkspace = {
  /** Yours, of one active workspace of the environment at a time. */
  externalId?: string;
  /** A fork: begins with the files of this version, of any workspace of the environment. */
  fromVersionId?: string;
  metadata?: Record<string, unknown>;
  /** Up to 20, of 1 to 128 characters. */
  tags?: readonly string[];
  /** A second creation with the same key gives the first one's workspace. Default: a key of its own, so that a lost answer is asked for again. */
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
  transport.request({
    method: "POST",
    path,
    body: { json: { ...further, ...toWireWorkspace(workspace) } },
    repeatable: true,
    ...callOptions(options),
  });
