import { randomUUID } from "node:crypto";
import { decodeId, encodeId } from "@keelson/contract";
import { sql } from "../../src/db/sql.ts";
import type { ApiServer } from "./api-server.ts";

/** A view of the person who has been there for longest. @returns its id. */
export async function insertSavedView(server: ApiServer, environmentId: string): Promise<string> {
  const id = randomUUID();
  await server.db.query(sql`
    INSERT INTO saved_views (environment_id, user_id, id, name, filter, created_at, updated_at)
    SELECT ${decodeId("env", environmentId)}, id, ${id}, 'Kept', '{}', now(), now() FROM users ORDER BY created_at, id LIMIT 1`);
  return encodeId("view", id);
}
