/** not_null_violation of PostgreSQL. */
const NOT_NULL_VIOLATION = "23502";

/** Whether a statement failed because it would have put a null into that column. */
export function isNullRefused(error: unknown, table: string, column: string): boolean {
  for (let link = error; link instanceof Error; link = link.cause) {
    const {
      code,
      table: inTable,
      column: inColumn,
    } = link as { code?: unknown; table?: unknown; column?: unknown };
    if (code === NOT_NULL_VIOLATION && inTable === table && inColumn === column) return true;
  }
  return false;
}
