import type { ErrorCode } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { credentialDigest } from "../credentials/digest.ts";
import { findUser, type UserRow } from "../identity/user-reads.ts";
import { decideAsk, isEarlyPoll, slowedInterval } from "./login.ts";
import { lockDevice } from "./device-reads.ts";
import { markDevice, touchDevice } from "./device-writes.ts";
import { startSession, type LoginContext, type StartedSession } from "../identity/start-session.ts";

/** A refusal is an outcome here and no exception: that the device asked is written all the same. */
export type DeviceAnswer =
  | { kind: "session"; session: StartedSession; user: UserRow }
  | { kind: "refuse"; code: ErrorCode; message: string };

/** The device asks for its session, which it gets once, after somebody has approved it. */
export async function askDeviceToken(
  tx: Tx,
  deviceCode: string,
  context: LoginContext,
): Promise<DeviceAnswer> {
  const { now } = context;
  const digest = credentialDigest(deviceCode);
  const device = await lockDevice(tx, digest);
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
  const userId = device?.userId ?? null;
  const user = userId === null ? null : await findUser(tx, userId);
  if (user === null) throw new Error("An approved device has no user.");
  await markDevice(tx, digest, decision.to, user.id);
  return { kind: "session", session: await startSession(tx, user.id, "device", context), user };
}
