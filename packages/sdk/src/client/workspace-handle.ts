import type { ExecsApi } from "./execs.ts";
import type { PtysApi } from "./ptys.ts";
import type { WorkspaceFilesApi } from "./workspace-files.ts";
import type { WorkspaceVersionsApi } from "./workspace-versions.ts";
import type { WorkspacesApi } from "./workspaces.ts";

/** A call without its first argument, the workspace's id. */
type Bound<Call> = Call extends (workspaceId: string, ...rest: infer Rest) => infer Answer
  ? (...rest: Rest) => Answer
  : never;
type AllBound<Api> = { readonly [Name in keyof Api]: Bound<Api[Name]> };

const OWN_CALLS = [
  "get",
  "update",
  "delete",
  "materialize",
  "connect",
  "stop",
  "recover",
  "discard",
  "exec",
  "pty",
] as const;
type OwnCall = (typeof OWN_CALLS)[number];

/** One workspace: the calls of `client.workspaces` without its id. */
export type WorkspaceHandle = AllBound<Pick<WorkspacesApi, OwnCall>> & {
  /** The workspace's id. */
  readonly id: string;
  /** As `client.workspaces.files`, without the id. */
  readonly files: AllBound<WorkspaceFilesApi>;
  /** As `client.workspaces.versions`, without the id. */
  readonly versions: AllBound<WorkspaceVersionsApi>;
  /** As `client.workspaces.execs`, without the id. */
  readonly execs: AllBound<ExecsApi>;
  /** As `client.workspaces.ptys`, without the id. */
  readonly ptys: AllBound<PtysApi>;
};

function bindAll<Api extends object>(api: Api, id: string, names = Object.keys(api)): AllBound<Api> {
  const calls = api as Record<string, (workspaceId: string, ...rest: unknown[]) => unknown>;
  return Object.fromEntries(
    names.map((name) => [name, (...rest: unknown[]) => calls[name]?.(id, ...rest)]),
  ) as AllBound<Api>;
}

export const createWorkspaceHandle = (api: WorkspacesApi, id: string): WorkspaceHandle => ({
  id,
  ...bindAll<Pick<WorkspacesApi, OwnCall>>(api, id, [...OWN_CALLS]),
  files: bindAll(api.files, id),
  versions: bindAll(api.versions, id),
  execs: bindAll(api.execs, id),
  ptys: bindAll(api.ptys, id),
});
