/**
 * Where the counts of runs are written. Each environment and status has a row for each of 64 shards, and a connection writes
 * one of them, so that transactions do not wait for each other. Readers add all shards up, so any shard is right.
 *
 * While PostgreSQL cannot remove dead rows, each change of a row steps over all its earlier versions. New shards are
 * then taken from time to time: their rows have few versions.
 */
export const SHARDS = 64;
/** Shards are stored in two bytes; after the last ones come the first again. */
const MAX_ERAS = 500;

let era = 0;

/** The first of the 64 shards that are written now. */
export const firstShard = (): number => era * SHARDS;

export function takeNewShards(): void {
  era = (era % (MAX_ERAS - 1)) + 1;
}

export function takeOldShards(): void {
  era = 0;
}
