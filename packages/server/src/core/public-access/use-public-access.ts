import type { Database } from "../../db/pool.ts";
import type { Queryable } from "../../db/queryable.ts";
import { DomainError } from "../../domain-error.ts";
import type { PublicAccess } from "./public-access.ts";
import { consumeUse, returnUse } from "./public-access-writes.ts";

/**
 * Counts a use of a token whose uses are counted. In a transaction it is counted if what it is for happens.
 *
 * @throws DomainError `unauthenticated` when all uses are spent.
 */
export async function countUse(db: Queryable, access: PublicAccess): Promise<void> {
  if (access.maxUses !== null && !(await consumeUse(db, access))) throw spent(access);
}

export const spent = ({ maxUses }: PublicAccess): DomainError =>
  new DomainError(
    "unauthenticated",
    `All ${maxUses} uses of this public access token are spent. Ask the application for another.`,
  );

/**
 * Has a use of the token counted, then does what it is for, which no transaction can hold. When that is refused, the use is
 * given back; when its outcome is unknown, it stays counted. Only for requests that the scope is known to cover.
 *
 * @throws DomainError `unauthenticated` when all uses are spent, and whatever the effect throws.
 */
export async function usePublicAccess<Result>(
  db: Database,
  access: PublicAccess,
  effect: () => Promise<Result>,
): Promise<Result> {
  await countUse(db, access);
  if (access.maxUses === null) return effect();
  try {
    return await effect();
  } catch (error) {
    if (error instanceof DomainError && error.code !== "unavailable") await returnUse(db, access);
    throw error;
  }
}
