import type { Tx } from "../../db/queryable.ts";
import { touchMaterialization } from "./materialization-writes.ts";

/** As `noteUse`, of a materialization that is locked and known to be its worker's. */
export const noteHeldUse = (
  tx: Tx,
  environmentId: string,
  materializationId: string,
  now: number,
): Promise<void> => touchMaterialization(tx, environmentId, materializationId, now);
