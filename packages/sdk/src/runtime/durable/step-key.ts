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
 * A key that a step has in every try, execution and attempt of its run, and that no other step has. A step that an outcome
 * leads to is known by its place. A step that I/O of the code's own leads to is known by its name and number, because the
 * I/O may finish at another place in a replay.
 */
export function stepKey(runId: string, name: string, place: number): string {
  if (isOwn(place)) return `${runId}-${digest(name)}-${occurrenceOf(place)}`;
  return `${runId}-${seenAt(place)}-${numberInTurn(place)}`;
}
