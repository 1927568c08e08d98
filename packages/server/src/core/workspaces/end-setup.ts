import type { Tx } from "../../db/queryable.ts";
import { clearSetup } from "./workspace-writes.ts";

/** The result of a workspace's setup is committed: it is not run again. */
export const endSetup = (tx: Tx, environmentId: string, workspaceId: string): Promise<void> =>
  clearSetup(tx, environmentId, workspaceId);
