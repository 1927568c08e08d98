import { sql, type Sql } from "./sql.ts";

/** A time as a fragment of a statement, so that the sources say its unit once. `ms`: since 1970, null for no time. */
export const timestamp = (ms: number | null): Sql => sql`to_timestamp(${ms}::float8 / 1000)`;
