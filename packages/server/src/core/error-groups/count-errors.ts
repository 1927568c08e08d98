import type { RunFailure } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import type { ItemContext } from "../loop-failures/failed-items.ts";
import { processInBatches } from "../loop-failures/process-items.ts";
import {
  bySeenGroup,
  decideCounted,
  groupKeyOf,
  type ErrorGroupState,
  type UncountedSighting,
} from "./error-group.ts";
import { COUNT_LOOP, findFailure, lockErrorGroups, lockUncounted } from "./error-group-reads.ts";
import { groupOf } from "./group-of.ts";
import { insertErrorGroup, markCounted, updateErrorGroups } from "./error-group-writes.ts";

const LIMIT = 2_000;

/** Adds failed runs to the counts of their groups, and opens resolved groups again. Each run is counted by one server, once. */
export function countErrors(context: ItemContext): Promise<void> {
  return processInBatches(context, {
    loop: COUNT_LOOP,
    limit: LIMIT,
    itemOf: ({ environmentId, runId }) => ({ environmentId, itemId: runId }),
    take: async (tx, limit, now) => {
      const rows = await lockUncounted(tx, now, limit);
      return { rows, more: rows.length === limit };
    },
    apply: count,
  });
}

async function count(tx: Tx, sightings: readonly UncountedSighting[]): Promise<void> {
  const groups = bySeenGroup(sightings);
  const states = await lockOrMake(tx, groups);
  const counted = states.map((state) => decideCounted(state, groups.get(groupKeyOf(state)) ?? []));
  if (counted.length > 0) await updateErrorGroups(tx, counted);
  await markCounted(tx, sightings);
}

/** A group may have been dropped while a run was being put into it: it is made again from that run. */
async function lockOrMake(
  tx: Tx,
  groups: ReadonlyMap<string, readonly UncountedSighting[]>,
): Promise<ErrorGroupState[]> {
  const firsts = [...groups.values()].flatMap(([first]) => (first === undefined ? [] : [first]));
  const locked = await lockErrorGroups(tx, firsts);
  if (locked.length === firsts.length) return locked;
  const there = new Set(locked.map(groupKeyOf));
  for (const first of firsts) {
    if (there.has(groupKeyOf({ environmentId: first.environmentId, id: first.errorGroupId }))) continue;
    const failure = await findFailure(tx, first.environmentId, first.runId);
    if (failure === null) continue;
    const group = groupOf(first.environmentId, JSON.parse(failure) as RunFailure);
    // An older way of making fingerprints may have put it elsewhere; where it was put is where it counts.
    await insertErrorGroup(tx, { ...group, id: first.errorGroupId }, first);
  }
  return lockErrorGroups(tx, firsts);
}
