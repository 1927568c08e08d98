import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { credentialDigest } from "../credentials/digest.ts";
import { lockDevice, type DeviceRow } from "./device-reads.ts";
import { deleteDevice, markDevice, touchDevice } from "./device-writes.ts";
import { decideAsk, isEarlyPoll, slowedInterval, type AskRefusal } from "./login.ts";

/** A refusal is an outcome here and no exception: that the device asked is written all the same. */
export type AskedDevice = { kind: "approved"; device: DeviceRow } | AskRefusal;

/**
 * A device asks for what somebody has approved, and is given it once.
 *
 * @param oauthClientId the client that the device must be; null: one that signs in for a session
 */
export async function askDevice(
  tx: Tx,
  deviceCode: string,
  oauthClientId: Uuid<"ocl"> | null,
  now: number,
): Promise<AskedDevice> {
  const digest = credentialDigest(deviceCode);
  const found = await lockDevice(tx, digest);
  const device = found?.oauthClientId === oauthClientId ? found : null;
  const isEarly = device !== null && isEarlyPoll(device.lastPolledAt, device.intervalSeconds, now);
  const decision =
    device === null
      ? decideAsk("consumed", true, false)
      : decideAsk(device.status, device.expiresAt <= now, isEarly);
  if (decision.kind === "refuse") {
    if (device !== null && device.status === "pending") {
      const { intervalSeconds } = device;
      await touchDevice(tx, digest, isEarly ? slowedInterval(intervalSeconds) : intervalSeconds, now);
    }
    return decision;
  }
  if (device === null || device.userId === null) throw new Error("An approved device has no user.");
  if (device.oauthClientId === null) await markDevice(tx, digest, decision.to, device.userId, null);
  // A consumed one would be a session's.
  else await deleteDevice(tx, digest);
  return { kind: "approved", device };
}
