import type { DeviceStatus, OauthAccess, Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

export type NewDevice = {
  digest: Buffer;
  userCode: string;
  clientId: string | null;
  intervalSeconds: number;
  expiresAt: number;
  now: number;
  oauth: AskedGrant | null;
};

/** A client that asks by a device for a grant, and the most that it asks for. */
export type AskedGrant = { clientId: Uuid<"ocl">; access: OauthAccess };

/** False when the user code is another's. */
export async function insertDevice(tx: Tx, device: NewDevice): Promise<boolean> {
  const rows = await tx.query(sql`
    INSERT INTO device_authorizations (digest, user_code, client_id, interval_seconds, created_at, expires_at, oauth_client_id,
      oauth_access)
    VALUES (${device.digest}, ${device.userCode}, ${device.clientId}, ${device.intervalSeconds},
      ${timestamp(device.now)}, ${timestamp(device.expiresAt)}, ${device.oauth?.clientId ?? null}, ${device.oauth?.access ?? null})
    ON CONFLICT (user_code) DO NOTHING RETURNING digest`);
  return rows.length > 0;
}

export async function markDevice(
  tx: Tx,
  digest: Buffer,
  status: DeviceStatus,
  userId: Uuid<"user">,
  oauthGrantId: Uuid<"ogr"> | null,
): Promise<void> {
  await tx.query(sql`
    UPDATE device_authorizations SET status = ${status}, user_id = ${userId}, oauth_grant_id = ${oauthGrantId}
    WHERE digest = ${digest}`);
}

export async function deleteDevice(tx: Tx, digest: Buffer): Promise<void> {
  await tx.query(sql`DELETE FROM device_authorizations WHERE digest = ${digest}`);
}

/** The device asked; `intervalSeconds` is what it waits from now on. */
export async function touchDevice(
  tx: Tx,
  digest: Buffer,
  intervalSeconds: number,
  now: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE device_authorizations
    SET interval_seconds = ${intervalSeconds}, last_polled_at = ${timestamp(now)}
    WHERE digest = ${digest}`);
}

/** Counts a wrong code; a window begins with its first one. */
export async function addCodeFailure(
  tx: Tx,
  userId: Uuid<"user">,
  windowMs: number,
  now: number,
): Promise<void> {
  await tx.query(sql`
    INSERT INTO user_code_failures (user_id, failures, window_ends_at)
    VALUES (${userId}, 1, ${timestamp(now + windowMs)})
    ON CONFLICT (user_id) DO UPDATE SET
      failures = CASE WHEN user_code_failures.window_ends_at > ${timestamp(now)}
        THEN user_code_failures.failures + 1 ELSE 1 END,
      window_ends_at = CASE WHEN user_code_failures.window_ends_at > ${timestamp(now)}
        THEN user_code_failures.window_ends_at ELSE excluded.window_ends_at END`);
}
