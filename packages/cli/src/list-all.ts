/** All rows of a list whose whole a person wants to see. */
export async function listAll<Row>(list: AsyncIterable<Row>): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const row of list) rows.push(row);
  return rows;
}

/** The most rows that one request gives. */
export const WHOLE = { limit: 200 } as const;
