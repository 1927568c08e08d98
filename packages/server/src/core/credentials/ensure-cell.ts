import type { Queryable } from "../../db/queryable.ts";
import { findCell, rememberCell } from "./installation-writes.ts";

/**
 * The tag of the installation's cell; null when it has none. The installation keeps the first tag that a server is given,
 * because credentials that carry it are in the hands of others. So the answer can be another tag than `wanted`.
 *
 * @param wanted the setting; null takes what the installation has
 */
export async function ensureCell(db: Queryable, wanted: string | null): Promise<string | null> {
  if (wanted !== null) await rememberCell(db, wanted);
  return findCell(db);
}
