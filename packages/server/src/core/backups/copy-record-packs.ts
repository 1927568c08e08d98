import type { Sql } from "../../db/sql.ts";
import {
  findPackPageEnd,
  FIRST_PACK,
  noPack,
  packsBetween,
  type PackKey,
} from "./record-pack-history-reads.ts";
import type { CopyContext, TableParts } from "./table-parts.ts";

/** Packs of a page: some dozen megabytes. */
const PAGE = 2_000;

/**
 * Copies packs of records before the moment of the backup, in short statements. None is made, changed or dropped while a backup
 * is written.
 *
 * @returns the packs that are left: none.
 */
export async function copyRecordPacks(
  { session, signal }: CopyContext,
  packs: TableParts | undefined,
  page: number = PAGE,
): Promise<Sql | undefined> {
  // The tables are of an older version.
  if (packs === undefined) return undefined;
  for (let after: PackKey | null = FIRST_PACK; after !== null;) {
    signal.throwIfAborted();
    const upTo: PackKey | null = await findPackPageEnd(session, after, page);
    await packs.copy(packsBetween(after, upTo));
    after = upTo;
  }
  return noPack();
}
