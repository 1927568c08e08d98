import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { rawSql, sql } from "../../db/sql.ts";
import type { FileFacts, FilePlace, FileRow } from "./session-file.ts";

const COLUMNS = rawSql(`
  f.environment_id, f.session_id, f.id, f.digest, f.size_bytes, f.media_type, f.name, f.created_at`);

/** Null when the session has no such file. */
export async function findSessionFile(
  db: Queryable,
  { environmentId, sessionId }: FilePlace,
  id: Uuid<"file">,
): Promise<FileRow | null> {
  const [row] = await db.query<FileRow>(sql`
    SELECT ${COLUMNS} FROM session_files f
    WHERE f.environment_id = ${environmentId} AND f.session_id = ${sessionId} AND f.id = ${id}`);
  return row ?? null;
}

/** The file of these bytes that the session has under this name and type; null when it has none. */
export async function findEqualFile(
  db: Queryable,
  { environmentId, sessionId }: FilePlace,
  { digest, mediaType, name }: FileFacts & { digest: Buffer },
): Promise<FileRow | null> {
  const [row] = await db.query<FileRow>(sql`
    SELECT ${COLUMNS} FROM session_files f
    WHERE f.environment_id = ${environmentId} AND f.session_id = ${sessionId} AND f.digest = ${digest}
      AND f.media_type = ${mediaType} AND f.name IS NOT DISTINCT FROM ${name}`);
  return row ?? null;
}

/** Newest first, after the file `before`. */
export function listSessionFiles(
  db: Queryable,
  { environmentId, sessionId }: FilePlace,
  before: string | null,
  limit: number,
): Promise<FileRow[]> {
  return db.query<FileRow>(sql`
    SELECT ${COLUMNS} FROM session_files f
    WHERE f.environment_id = ${environmentId} AND f.session_id = ${sessionId}
      ${before === null ? sql`` : sql`AND f.id < ${before}`}
    ORDER BY f.id DESC LIMIT ${limit}`);
}
