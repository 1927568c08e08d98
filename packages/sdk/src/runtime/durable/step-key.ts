import { isOwn, numberInTurn, occurrenceOf, seenAt } from "./place.ts";

const FNV_OFFSET = 0xcbf29ce484222325n;
const FNV_PRIME = 0x100000001b3n;

/** FNV-1a of 64 bits, as 16 digits. Tells the few names apart that one run uses. */
function digest(text: string): string {
  let hash = FNV_OFFSET;
  for (const byte of new TextEncoder().encode(text))
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * FNV_PRIME);
  return hash.toString(16).padStart(16, "0");
}

/**
 * A key that a step has in every try, execution and attempt of its run, and that no other step has, also of another journal of the run. A step that an outcome
 * leads to is known by its place. A step that I/O of the code's own leads to is known by its name and number, because the
 * I/O may finish at another place in a replay.
 */
export function stepKey(
  { id, continuations = 0 }: { id: string; continuations?: number },
  name: string,
  place: number,
): string {
  // The places of each journal begin anew.
  const journal = continuations === 0 ? id : `${id}-c${continuations}`;
  if (isOwn(place)) return `${journal}-${digest(name)}-${occurrenceOf(place)}`;
  return `${journal}-${seenAt(place)}-${numberInTurn(place)}`;
}
