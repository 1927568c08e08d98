import type { RunTable } from "./backup.ts";
import { findCountedNumber, findPageEnd, rowsOfEnded } from "./run-history-reads.ts";
import type { CopyContext, TableParts } from "./table-parts.ts";

/** Runs of a page: a statement for each table, of some hundred milliseconds. */
const PAGE = 20_000;

/**
 * Copies runs that have ended, before the moment of the backup and in short statements, so that PostgreSQL can clean up
 * meanwhile. What has ended does not change, so that it is the same at the moment. Ends are numbered, and those up to a number
 * that was counted are all there: nothing has to be remembered of what was copied but the number. It goes on with those that
 * have ended meanwhile, until few are left, or until no fewer are.
 *
 * @returns the number: all runs whose end has it, or a lower one, are copied.
 */
export async function copyEndedRuns(
  context: CopyContext,
  tables: ReadonlyMap<RunTable, TableParts>,
  page: number = PAGE,
): Promise<number> {
  const { session } = context;
  let copied = 0;
  let lastAhead = Number.POSITIVE_INFINITY;
  for (;;) {
    const counted = await findCountedNumber(session);
    const ahead = counted - copied;
    if (ahead < page || ahead > lastAhead / 2) return copied;
    lastAhead = ahead;
    await copyUpTo(context, tables, { copied, counted, page });
    copied = counted;
  }
}

async function copyUpTo(
  { session, signal }: CopyContext,
  tables: ReadonlyMap<RunTable, TableParts>,
  { copied, counted, page }: { copied: number; counted: number; page: number },
): Promise<void> {
  for (let after = copied; ;) {
    const upTo = await findPageEnd(session, after, counted, page);
    if (upTo === null) return;
    for (const [name, table] of tables) {
      signal.throwIfAborted();
      await table.copy(rowsOfEnded(name, after, upTo));
    }
    after = upTo;
  }
}
