import type { DeviceStatus, OauthAccess, Uuid } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { rawSql, sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

export type DeviceRow = {
  digest: Buffer;
  userCode: string;
  clientId: string | null;
  status: DeviceStatus;
  userId: Uuid<"user"> | null;
  intervalSeconds: number;
  lastPolledAt: number | null;
  createdAt: number;
  expiresAt: number;
  /** A client that asks for a grant; null of a device that asks for a session. */
  oauthClientId: Uuid<"ocl"> | null;
  oauthAccess: OauthAccess | null;
  /** Of an approved one that asked for it. */
  oauthGrantId: Uuid<"ogr"> | null;
};

const COLUMNS = rawSql(
  `digest, user_code, client_id, status, user_id, interval_seconds,
   last_polled_at, created_at, expires_at, oauth_client_id, oauth_access, oauth_grant_id`,
);

/** By the device's code. Of two that ask at once, one gets the session. */
export async function lockDevice(tx: Tx, digest: Buffer): Promise<DeviceRow | null> {
  const [row] = await tx.query<DeviceRow>(
    sql`SELECT ${COLUMNS} FROM device_authorizations WHERE digest = ${digest} FOR UPDATE`,
  );
  return row ?? null;
}

/** By the code that a person typed. */
export async function lockDeviceByUserCode(tx: Tx, userCode: string, now: number): Promise<DeviceRow | null> {
  const [row] = await tx.query<DeviceRow>(sql`
    SELECT ${COLUMNS} FROM device_authorizations
    WHERE user_code = ${userCode} AND expires_at > ${timestamp(now)} FOR UPDATE`);
  return row ?? null;
}

/** Wrong codes that the user typed in the present window. */
export async function countCodeFailures(db: Queryable, userId: Uuid<"user">, now: number): Promise<number> {
  const [row] = await db.query<{ failures: number }>(sql`
    SELECT failures FROM user_code_failures
    WHERE user_id = ${userId} AND window_ends_at > ${timestamp(now)}`);
  return row?.failures ?? 0;
}
