import { LIMITS, type ErrorGroupStatus, type FailureKind, type Uuid } from "@keelson/contract";

/**
 * Runs that failed in the same way.
 *
 * A run that ends as `failed` or `system_failed` is put into its group in the transaction of its end: one row is added, and
 * none is changed, so that reports never wait for each other. A loop counts these rows. A group is open until a person
 * resolves or mutes it. When a run fails so after that, a resolved one is open again; a muted one stays muted.
 */

/** A group as its first failure makes it. */
export type NewErrorGroup = {
  environmentId: Uuid<"env">;
  id: Uuid<"err">;
  kind: FailureKind;
  title: string;
  message: string;
  frame: string | null;
};

/** That a run failed in the way of a group. */
export type Sighting = {
  environmentId: Uuid<"env">;
  errorGroupId: Uuid<"err">;
  runId: Uuid<"run">;
  seenAt: number;
};

/** One to be counted. Of a run that is gone, its task or actor is not known. */
export type UncountedSighting = Sighting & {
  entrypointKind: "task" | "actor" | null;
  entrypoint: string | null;
};

/** What counting changes. */
export type ErrorGroupState = {
  environmentId: Uuid<"env">;
  id: Uuid<"err">;
  status: ErrorGroupStatus;
  firstSeenAt: number;
  lastSeenAt: number;
  count: number;
  lastRunId: Uuid<"run">;
  tasks: readonly string[];
  actors: readonly string[];
  resolvedAt: number | null;
  reopenedAt: number | null;
};

const keyOf = (environmentId: string, id: string): string => `${environmentId} ${id}`;

export const groupKeyOf = ({ environmentId, id }: Pick<ErrorGroupState, "environmentId" | "id">): string =>
  keyOf(environmentId, id);

/** In the order in which rows of groups are locked. */
const inKeyOrder = <T>(items: readonly T[], key: (item: T) => string): T[] =>
  [...items].sort((a, b) => (key(a) < key(b) ? -1 : 1));

/** Each group once, in the order of their keys. */
export const distinctGroups = <Group extends Pick<NewErrorGroup, "environmentId" | "id">>(
  groups: readonly Group[],
): Group[] =>
  inKeyOrder([...new Map(groups.map((group) => [groupKeyOf(group), group])).values()], groupKeyOf);

/** Sightings of each group, the earliest first; groups in the order of their keys. */
export function bySeenGroup(sightings: readonly UncountedSighting[]): Map<string, UncountedSighting[]> {
  const groups = new Map<string, UncountedSighting[]>();
  const ordered = inKeyOrder(sightings, (one) => keyOf(one.environmentId, one.errorGroupId));
  for (const sighting of ordered) {
    const key = keyOf(sighting.environmentId, sighting.errorGroupId);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [sighting]);
    else group.push(sighting);
  }
  for (const group of groups.values()) group.sort((a, b) => a.seenAt - b.seenAt);
  return groups;
}

function namesWith(
  names: readonly string[],
  sightings: readonly UncountedSighting[],
  kind: "task" | "actor",
): string[] {
  const seen = sightings.flatMap(({ entrypointKind, entrypoint }) =>
    entrypointKind === kind && entrypoint !== null ? [entrypoint] : [],
  );
  return [...new Set([...names, ...seen])].slice(0, LIMITS.errorGroupNames);
}

/** A group after the sightings, of which there is at least one, the earliest first. */
export function decideCounted(
  group: ErrorGroupState,
  sightings: readonly UncountedSighting[],
): ErrorGroupState {
  const first = sightings[0];
  const last = sightings.at(-1);
  if (first === undefined || last === undefined) return group;
  const isBack = group.status === "resolved" && group.resolvedAt !== null && last.seenAt > group.resolvedAt;
  return {
    ...group,
    count: group.count + sightings.length,
    firstSeenAt: Math.min(group.firstSeenAt, first.seenAt),
    lastSeenAt: Math.max(group.lastSeenAt, last.seenAt),
    lastRunId: last.seenAt >= group.lastSeenAt ? last.runId : group.lastRunId,
    tasks: namesWith(group.tasks, sightings, "task"),
    actors: namesWith(group.actors, sightings, "actor"),
    ...(isBack && { status: "open" as const, reopenedAt: last.seenAt }),
  };
}
