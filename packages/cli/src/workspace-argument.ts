import type { Workspace, WorkspaceHandle } from "@keelson/sdk";
import type { Command } from "commander";
import type { Cli } from "./cli.ts";
import { checkIsNoExternalId } from "./check-is-id.ts";
import { EXIT, ExitError } from "./exit-codes.ts";

export type WorkspaceFlags = { externalId?: boolean };
type ClientFlags = Parameters<Cli["client"]>[0];

/** An id and an external id look alike to a shell; the flag says which was meant. */
export const addWorkspaceArgument = (command: Command): Command =>
  command
    .argument("<workspace>", "its id")
    .option("-x, --external-id", "the argument is the external id of an active workspace");

/** The workspace at hand; one by an external id is looked for first. */
export async function openWorkspace(
  cli: Cli,
  workspace: string,
  { externalId }: WorkspaceFlags,
  clientFlags: ClientFlags = {},
): Promise<WorkspaceHandle> {
  if (externalId !== true) checkIsNoExternalId("workspace", "ws", workspace);
  const { workspaces } = await cli.client(clientFlags);
  if (externalId !== true) return workspaces.open(workspace);
  const found = await workspaces
    .list({ externalId: workspace, limit: 1 }, { signal: cli.host.signal })
    .page();
  const [first] = found.items;
  if (first === undefined)
    throw new ExitError(
      EXIT.notFound,
      `No active workspace has the external id ${JSON.stringify(workspace)}`,
    );
  return workspaces.open(first);
}

/** The line a person reads of a workspace. */
export function describeWorkspace({ id, status, materialization, statusReason: reason }: Workspace): string {
  const machine = materialization === null ? "" : `, ${materialization.status}`;
  const why = materialization?.error?.message ?? reason?.message;
  return `${id} ${status}${machine}${why === undefined ? "" : `: ${why}`}`;
}

/** The outcome of a workspace. */
export function reportWorkspace(cli: Cli, workspace: Workspace): void {
  if (cli.isJson()) cli.printJson(workspace);
  else cli.print(describeWorkspace(workspace));
}

/** A made workspace: its id, for the next command. */
export function reportMade(cli: Cli, workspace: Workspace): void {
  if (cli.isJson()) cli.printJson(workspace);
  else cli.print(workspace.id);
}
