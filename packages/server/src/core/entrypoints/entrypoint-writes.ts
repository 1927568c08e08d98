import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import type { EntrypointKind } from "./entrypoint-reads.ts";

export type EntrypointInsert = { id: string; kind: EntrypointKind; declaredId: string };

/** Gives an id to each declared id that has none yet; the others keep theirs. */
export async function insertEntrypoints(
  tx: Tx,
  environmentId: Uuid<"env">,
  entrypoints: readonly EntrypointInsert[],
): Promise<void> {
  await tx.query(sql`
    INSERT INTO entrypoints (environment_id, id, kind, declared_id)
    SELECT ${environmentId}::uuid, id, kind, declared_id
    FROM unnest(${entrypoints.map((e) => e.id)}::uuid[], ${entrypoints.map((e) => e.kind)}::text[],
      ${entrypoints.map((e) => e.declaredId)}::text[]) AS e (id, kind, declared_id)
    ORDER BY kind, declared_id
    ON CONFLICT (environment_id, kind, declared_id) DO NOTHING`);
}
