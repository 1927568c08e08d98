import type { Reply } from "./route.ts";
import { decodeCursor, encodeCursor, pageLimit, toPage } from "./page.ts";

/** Lists of these families are of the whole installation: a cursor is bound to its list alone. */
const PLACE = "installation";

/** A page of rows by id, newest first. */
export async function answerPage<Row extends { id: string }>(
  list: string,
  query: { limit?: number; cursor?: string },
  read: (before: string | null, limit: number) => Promise<Row[]>,
  toResource: (row: Row) => unknown,
): Promise<Reply> {
  const limit = pageLimit(query.limit);
  const before = decodeCursor(list, PLACE, query.cursor);
  const page = toPage(await read(before, limit + 1), limit, ({ id }) => encodeCursor(list, PLACE, id));
  return { status: 200, body: { [list]: page.rows.map(toResource), next_cursor: page.nextCursor } };
}
