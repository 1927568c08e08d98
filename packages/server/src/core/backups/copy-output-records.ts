import { mayRemember, recordsOfNoPage, recordsOfPage, rememberLengths } from "./record-history-reads.ts";
import type { Sql } from "../../db/sql.ts";
import type { CopyContext, TableParts } from "./table-parts.ts";

/** Records of a page, unless one stream has more. */
const PAGE = 50_000;

/**
 * Copies the records of output streams before the moment of the backup, in short statements. A record never changes; input
 * might be withdrawn, and is left to the moment.
 *
 * @returns the records that are left; undefined: all.
 */
export async function copyOutputRecords(
  { session, signal }: CopyContext,
  records: TableParts | undefined,
  page: number = PAGE,
): Promise<Sql | undefined> {
  if (records === undefined || !(await mayRemember(session))) return undefined;
  const pages = await rememberLengths(session, page);
  for (let at = 0; at < pages; at += 1) {
    signal.throwIfAborted();
    await records.copy(recordsOfPage(at));
  }
  return recordsOfNoPage();
}
