import type { NewWorkspace } from "@keelson/sdk";
import type { Command } from "commander";
import { collect, parseObjectOption } from "./parse-arguments.ts";

export type NewWorkspaceFlags = {
  name?: string;
  metadata?: Record<string, unknown>;
  tag?: string[];
  idempotencyKey?: string;
};

/** What a new workspace and a fork may be given. */
export const addNewWorkspaceOptions = (command: Command): Command =>
  command
    .option("--name <id>", "your own id of the workspace, unique among active workspaces")
    .option("--metadata <json>", "a JSON object", parseObjectOption)
    .option("--tag <tag>", "a tag (repeatable)", collect)
    .option("--idempotency-key <key>", "a repeat with this key returns the same workspace");

export const toNewWorkspace = ({ name, tag, metadata, idempotencyKey }: NewWorkspaceFlags): NewWorkspace => ({
  ...(name !== undefined && { externalId: name }),
  ...(metadata !== undefined && { metadata }),
  ...(tag !== undefined && { tags: tag }),
  ...(idempotencyKey !== undefined && { idempotencyKey }),
});
