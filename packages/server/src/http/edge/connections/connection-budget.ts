/** Which connections are closed so that callers who say who they are find room. */

/** What is looked at of a connection. */
export type Counted = {
  address: string;
  /** In monotonic milliseconds: when it was opened, or its last request began. */
  since: number;
  /** Its request has arrived and is being answered. */
  isAnswering: boolean;
};

/** A caller that has just connected has this long to send what it came for. */
const GRACE_MS = 1_000;
/** Without a credential no answer takes longer, unless its caller does not read it. */
const ANSWER_MS = 30_000;

/** Those of each address past its limit that wait for their callers, oldest first; 0 is unlimited. */
export function pastBudget<C extends Counted>(unproven: readonly C[], limit: number, now: number): C[] {
  if (limit === 0 || unproven.length <= limit) return [];
  return [...byAddress(unproven).values()].flatMap((group) =>
    group.length <= limit
      ? []
      : group
          .filter(({ since, isAnswering }) => now - since >= (isAnswering ? ANSWER_MS : GRACE_MS))
          .slice(0, group.length - limit),
  );
}

/**
 * Up to `count` of them when the process can open no more. The address with the most loses its oldest first, so that
 * however many a stranger opens, the few of others stay.
 */
export function makeRoom<C extends Counted>(unproven: readonly C[], count: number, now: number): C[] {
  const ranked = [...byAddress(unproven).values()].flatMap((group) =>
    group.map((connection, index) => ({ connection, younger: group.length - index })),
  );
  return ranked
    .filter(({ connection }) => !connection.isAnswering || now - connection.since >= ANSWER_MS)
    .sort((a, b) => b.younger - a.younger)
    .slice(0, count)
    .map(({ connection }) => connection);
}

/** The oldest of each address first. */
function byAddress<C extends Counted>(connections: readonly C[]): Map<string, C[]> {
  return Map.groupBy(
    connections.toSorted((a, b) => a.since - b.since),
    ({ address }) => address,
  );
}
