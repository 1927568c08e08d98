import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { notFound } from "../../domain-error.ts";
import { findEnrollmentToken } from "./worker-group-reads.ts";
import { markEnrollmentRevoked } from "./worker-group-writes.ts";

/**
 * From here on no machine enrolls with the token. Workers that did stay.
 *
 * @returns whether this call revoked it
 * @throws DomainError `not_found`
 */
export async function revokeEnrollmentToken(tx: Tx, tokenId: Uuid<"enr">, now: number): Promise<boolean> {
  if ((await findEnrollmentToken(tx, tokenId)) === null) throw notFound();
  return markEnrollmentRevoked(tx, tokenId, now);
}
