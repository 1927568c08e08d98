import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { deleteErrorGroups } from "./error-group-writes.ts";

/** Drops groups that are more than an environment keeps. @returns how many */
export const dropErrorGroups = (
  tx: Tx,
  environmentId: Uuid<"env">,
  errorGroupIds: readonly Uuid<"err">[],
): Promise<number> => deleteErrorGroups(tx, environmentId, errorGroupIds);
