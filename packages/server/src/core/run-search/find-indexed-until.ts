import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { timeOfUuid } from "../../uuid.ts";
import { findIndexState, hasNewerRuns } from "./run-search-reads.ts";

/** Up to when the index of an environment has its runs: now, when there are none that it waits for. Milliseconds. */
export async function findIndexedUntil(
  db: Queryable,
  environmentId: Uuid<"env">,
  now: number,
): Promise<number> {
  const state = await findIndexState(db, environmentId);
  if (state === null) return 0;
  const isBehind = await hasNewerRuns(db, environmentId, state.freshTo);
  return isBehind ? timeOfUuid(state.freshTo) : now;
}
