import type { Client } from "@keelson/sdk";

/** All rows of a list whose whole a person wants to see. */
export async function listAll<Row>(
  client: Client,
  path: string,
  plural: string,
  query: Record<string, string | undefined>,
  signal: AbortSignal,
): Promise<Row[]> {
  const rows: Row[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.request<Record<string, unknown>>({
      method: "GET",
      path,
      query: { ...query, limit: 200, cursor },
      signal,
    });
    rows.push(...(page[plural] as Row[]));
    cursor = (page["next_cursor"] as string | null) ?? undefined;
  } while (cursor !== undefined);
  return rows;
}
