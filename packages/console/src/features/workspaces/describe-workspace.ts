import type { Workspace, WorkspaceVersion } from "@keelson/contract";
import { visibleText } from "../../ui/visible-text.ts";

/** What its makers call it, else its id. */
export const workspaceName = ({ id, external_id }: Pick<Workspace, "id" | "external_id">): string =>
  external_id === null ? id : visibleText(external_id);

const CAUSES: Record<WorkspaceVersion["cause"]["kind"], string> = {
  create: "Created",
  exec: "Command",
  pty: "Terminal",
  run: "Run",
  stop: "Stopped",
  write: "Written through the API",
};

/** What made a version, in a word or two. */
export const causeName = ({ cause }: WorkspaceVersion): string => CAUSES[cause.kind];

/** What of a machine a workspace has. */
export const liveState = ({ status, materialization }: Workspace): string =>
  status !== "active" ? status : (materialization?.status ?? "stopped");
