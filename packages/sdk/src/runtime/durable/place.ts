/**
 * Where in the course of the code a call is made, as one number that the journal keeps with the call. It says how many
 * outcomes the code had seen, and what made the call: the outcome that was handed over last (then the number of the call in
 * the turn that this outcome began), or I/O of the code's own that finished between two outcomes (then how many calls of
 * that name I/O of its own had made before). The server keeps the number and does not read it.
 */
const PER_OUTCOME = 65_536;
const OWN = PER_OUTCOME / 2;

/** The call of this number in the turn that began with the outcome `seen`, 0 for the start of the code. */
export const placeInTurn = (seen: number, nth: number): number => seen * PER_OUTCOME + Math.min(nth, OWN - 1);

/** The call of this name that I/O of the code's own made, after the turn of the outcome `seen`. */
export const placeOfOwn = (seen: number, occurrence: number): number =>
  seen * PER_OUTCOME + OWN + Math.min(occurrence, OWN - 1);

export const seenAt = (place: number): number => Math.floor(place / PER_OUTCOME);

export const isOwn = (place: number): boolean => place % PER_OUTCOME >= OWN;

/** Of a call that an outcome led to: its number in that turn. */
export const numberInTurn = (place: number): number => place % PER_OUTCOME;

export const occurrenceOf = (place: number): number => (place % PER_OUTCOME) - OWN;
