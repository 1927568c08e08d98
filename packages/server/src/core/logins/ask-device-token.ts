import type { Tx } from "../../db/queryable.ts";
import { startSession, type LoginContext, type StartedSession } from "../identity/start-session.ts";
import { findUser, type UserRow } from "../identity/user-reads.ts";
import { askDevice } from "./ask-device.ts";
import type { AskRefusal } from "./login.ts";

export type DeviceAnswer = { kind: "session"; session: StartedSession; user: UserRow } | AskRefusal;

/** The device asks for its session, which it gets once, after somebody has approved it. */
export async function askDeviceToken(
  tx: Tx,
  deviceCode: string,
  context: LoginContext,
): Promise<DeviceAnswer> {
  const asked = await askDevice(tx, deviceCode, null, context.now);
  if (asked.kind === "refuse") return asked;
  const { userId } = asked.device;
  const user = userId === null ? null : await findUser(tx, userId);
  if (user === null) throw new Error("An approved device has no user.");
  return { kind: "session", session: await startSession(tx, user.id, "device", context), user };
}
