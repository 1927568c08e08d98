import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

export type OauthClientRow = { id: Uuid<"ocl">; name: string | null; redirectUris: string[] };

export async function findOauthClient(db: Queryable, clientId: Uuid<"ocl">): Promise<OauthClientRow | null> {
  const [row] = await db.query<OauthClientRow>(
    sql`SELECT id, name, redirect_uris FROM oauth_clients WHERE id = ${clientId}`,
  );
  return row ?? null;
}
