import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { touchWorkspace } from "./workspace-writes.ts";

/** Somebody did something with a workspace. */
export const noteActivity = (
  tx: Tx,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
  now: number,
): Promise<void> => touchWorkspace(tx, environmentId, workspaceId, now);
