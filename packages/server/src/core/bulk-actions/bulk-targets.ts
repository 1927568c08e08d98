import type { RunFilter } from "../runs/run-filter.ts";

/** The runs of an action: those of its filter that there were when it was created. */
export const targetsOf = (filter: RunFilter, createdAt: number): RunFilter => ({
  ...filter,
  // A run of the same millisecond belongs to it; those that a replay starts get later times.
  createdBefore: Math.min(filter.createdBefore ?? Number.POSITIVE_INFINITY, createdAt + 1),
});
