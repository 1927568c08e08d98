import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { joinSql, rawSql, sql } from "../../db/sql.ts";
import { conditionsOfHidden, type RunFilter } from "./run-filter.ts";
import { listConditions } from "./run-list-reads.ts";
import { RUNS_BY_KEY } from "./run-reads.ts";

/** Of a run, what is searched. JSON is text, which may have been cut. */
export type RunTexts = {
  id: Uuid<"run">;
  entrypoint: string;
  tags: string[] | null;
  payload: string | null;
  metadata: string | null;
  failure: string | null;
};

/** Of a payload, of metadata, and of a failure: what is read. */
const TEXT_CHARACTERS = 16_384;
const FAILURE_CHARACTERS = 65_536;

const TEXTS = rawSql(`
  r.id, r.entrypoint, r.tags, left(r.payload, ${TEXT_CHARACTERS}) AS payload,
  left(coalesce(x.metadata, e.metadata, r.metadata), ${TEXT_CHARACTERS}) AS metadata,
  left(x.failure, ${FAILURE_CHARACTERS}) AS failure`);

/** Those of the runs that pass the filter but for its words, in no order. */
export const listTextsOf = (
  db: Queryable,
  environmentId: Uuid<"env">,
  runIds: readonly Uuid<"run">[],
  filter: RunFilter,
): Promise<RunTexts[]> =>
  db.query<RunTexts>(sql`
    SELECT ${TEXTS} FROM ${RUNS_BY_KEY}
    WHERE ${joinSql(
      [
        sql`r.environment_id = ${environmentId}`,
        sql`r.id = ANY(${runIds}::uuid[])`,
        ...listConditions(filter),
        ...conditionsOfHidden(filter),
      ],
      " AND ",
    )}`);

/** The runs with whether each has ended, in no order. */
export const listTexts = (
  db: Queryable,
  environmentId: Uuid<"env">,
  runIds: readonly Uuid<"run">[],
): Promise<(RunTexts & { isEnded: boolean })[]> =>
  db.query<RunTexts & { isEnded: boolean }>(sql`
    SELECT ${TEXTS}, x.run_id IS NOT NULL AS is_ended FROM ${RUNS_BY_KEY}
    WHERE r.environment_id = ${environmentId} AND r.id = ANY(${runIds}::uuid[])`);
