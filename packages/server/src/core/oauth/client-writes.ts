import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

export type NewOauthClient = {
  id: Uuid<"ocl">;
  name: string | null;
  redirectUris: readonly string[];
  keptUntil: number;
  now: number;
};

export async function insertOauthClient(tx: Tx, client: NewOauthClient): Promise<void> {
  await tx.query(sql`
    INSERT INTO oauth_clients (id, name, redirect_uris, created_at, kept_until)
    VALUES (${client.id}, ${client.name}, ${client.redirectUris}::text[], ${timestamp(client.now)},
      ${timestamp(client.keptUntil)})`);
}

/** Keeps a registration for longer. False when it was dropped. */
export async function keepOauthClient(tx: Tx, clientId: Uuid<"ocl">, until: number): Promise<boolean> {
  const rows = await tx.query(sql`
    UPDATE oauth_clients SET kept_until = GREATEST(kept_until, ${timestamp(until)}) WHERE id = ${clientId}
    RETURNING 1 AS kept`);
  return rows.length > 0;
}
