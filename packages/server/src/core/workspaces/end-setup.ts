import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { clearSetup } from "./workspace-writes.ts";

/** The result of a workspace's setup is committed: it is not run again. */
export const endSetup = (tx: Tx, environmentId: Uuid<"env">, workspaceId: Uuid<"ws">): Promise<void> =>
  clearSetup(tx, environmentId, workspaceId);
