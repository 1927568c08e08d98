import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { rawSql, sql, type Sql } from "../../db/sql.ts";
import { FIRST_UUID } from "../../uuid.ts";

export type PackKey = { environmentId: Uuid<"env">; streamId: Uuid<"strm">; firstSequence: number };

export const FIRST_PACK: PackKey = { environmentId: FIRST_UUID, streamId: FIRST_UUID, firstSequence: 0 };

/** The last pack of the page after that one; null when there are not so many. */
export async function findPackPageEnd(
  db: Queryable,
  { environmentId, streamId, firstSequence }: PackKey,
  page: number,
): Promise<PackKey | null> {
  const [row] = await db.query<PackKey>(sql`
    SELECT environment_id, stream_id, first_sequence FROM record_packs
    WHERE (environment_id, stream_id, first_sequence) > (${environmentId}::uuid, ${streamId}::uuid, ${firstSequence}::integer)
    ORDER BY environment_id, stream_id, first_sequence OFFSET ${page - 1} LIMIT 1`);
  return row ?? null;
}

/** Packs after one and up to another, or to the last of all. The keys are of the database: a copy takes no parameters. */
export const packsBetween = (after: PackKey, upTo: PackKey | null): Sql =>
  rawSql(
    `record_packs t WHERE ${KEY} > ${textOf(after)}${upTo === null ? "" : ` AND ${KEY} <= ${textOf(upTo)}`}`,
  );

export const noPack = (): Sql => rawSql("record_packs t WHERE false");

const KEY = "(t.environment_id, t.stream_id, t.first_sequence)";

const textOf = ({ environmentId, streamId, firstSequence }: PackKey): string =>
  `('${environmentId}'::uuid, '${streamId}'::uuid, ${firstSequence})`;
