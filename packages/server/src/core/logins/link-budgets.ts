import { hash } from "node:crypto";
import type { Tx } from "../../db/queryable.ts";
import type { RatePolicy } from "../rates/rate.ts";
import { takeOne } from "../rates/take-one.ts";
import { MAGIC_LINK_MS } from "./login.ts";

/**
 * How many links a person is mailed. Anybody may ask in anybody's name, so no budget that a stranger can spend is the
 * only one: a browser in which the person signed in before has its own, and so has each address. From all other browsers
 * together a person gets a bounded number, and then one link a minute.
 */
const LIMITS = {
  browser: { name: "link browser", limit: 5, windowMs: MAGIC_LINK_MS },
  address: { name: "link address", limit: 5, windowMs: MAGIC_LINK_MS },
  person: { name: "link person", limit: 20, windowMs: MAGIC_LINK_MS },
  late: { name: "late link", limit: 1, windowMs: 60_000 },
} as const satisfies Record<string, RatePolicy>;

export type LinkAsker = {
  /** As it is counted: see `callerAddress`. */
  address: string;
  /** The id of a browser in which the person signed in before; null for any other. */
  knownBrowser: string | null;
};

/** Whether a link may be sent, and counts it. The same for an address of nobody, so that the answer's time tells nothing. */
export async function takeLink(
  tx: Tx,
  email: string,
  { address, knownBrowser }: LinkAsker,
  now: number,
): Promise<boolean> {
  const person = hash("sha256", email.toLowerCase(), "base64url");
  if (knownBrowser !== null && (await takeOne(tx, LIMITS.browser, `${person} ${knownBrowser}`, now)))
    return true;
  // The address first: one that has spent its own takes nothing from the others.
  const inBudget =
    (await takeOne(tx, LIMITS.address, `${person} ${address}`, now)) &&
    (await takeOne(tx, LIMITS.person, person, now));
  return inBudget || takeOne(tx, LIMITS.late, person, now);
}
