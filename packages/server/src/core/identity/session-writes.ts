import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import type { LoginMethod } from "../logins/login.ts";

export type NewSession = {
  id: Uuid<"usess">;
  digest: Buffer;
  userId: Uuid<"user">;
  method: LoginMethod;
  expiresAt: number;
  now: number;
};

export async function insertSession(tx: Tx, session: NewSession): Promise<void> {
  await tx.query(sql`
    INSERT INTO user_sessions (digest, id, user_id, method, created_at, expires_at)
    VALUES (${session.digest}, ${session.id}, ${session.userId}, ${session.method},
      ${timestamp(session.now)}, ${timestamp(session.expiresAt)})`);
}

export async function markSessionRevoked(tx: Tx, sessionId: Uuid<"usess">, now: number): Promise<void> {
  await tx.query(sql`
    UPDATE user_sessions SET revoked_at = ${timestamp(now)}
    WHERE id = ${sessionId} AND revoked_at IS NULL`);
}
