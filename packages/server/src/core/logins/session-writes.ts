import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import type { LoginMethod } from "./login.ts";

export type NewSession = {
  id: string;
  digest: Buffer;
  userId: string;
  method: LoginMethod;
  expiresAt: number;
  now: number;
};

export async function insertSession(tx: Tx, session: NewSession): Promise<void> {
  await tx.query(sql`
    INSERT INTO user_sessions (digest, id, user_id, method, created_at, expires_at)
    VALUES (${session.digest}, ${session.id}, ${session.userId}, ${session.method},
      to_timestamp(${session.now}::float8 / 1000), to_timestamp(${session.expiresAt}::float8 / 1000))`);
}

export async function markSessionRevoked(tx: Tx, sessionId: string, now: number): Promise<void> {
  await tx.query(sql`
    UPDATE user_sessions SET revoked_at = to_timestamp(${now}::float8 / 1000)
    WHERE id = ${sessionId} AND revoked_at IS NULL`);
}
