import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError } from "../../domain-error.ts";
import type { Actor } from "../identity/identity.ts";
import { countCodeFailures, lockDeviceByUserCode, type DeviceRow } from "./device-reads.ts";
import { addCodeFailure, markDevice } from "./device-writes.ts";
import { CODE_FAILURE_WINDOW_MS, decideAnswer, MAX_CODE_FAILURES, parseUserCode } from "./login.ts";

/** What came of a typed user code. Unknown ones are counted, so these are outcomes and no exceptions. */
export type FoundDevice = { kind: "found"; device: DeviceRow } | { kind: "unknown" } | { kind: "limited" };

/** Looks a device up by the code that it shows. Codes are few enough to be guessed, so guesses are counted. */
export async function findDevice(tx: Tx, actor: Actor, text: string, now: number): Promise<FoundDevice> {
  if ((await countCodeFailures(tx, actor.userId, now)) >= MAX_CODE_FAILURES) return { kind: "limited" };
  const userCode = parseUserCode(text);
  const device = userCode === null ? null : await lockDeviceByUserCode(tx, userCode, now);
  if (device !== null) return { kind: "found", device };
  await addCodeFailure(tx, actor.userId, CODE_FAILURE_WINDOW_MS, now);
  return { kind: "unknown" };
}

/** `grantFor` makes the grant of a device that asks for one; null for one that asks for a session. */
export type DeviceReply =
  | { to: "approved"; grantFor: (device: DeviceRow) => Promise<Uuid<"ogr"> | null> }
  | { to: "denied" };

/**
 * A signed-in person approves a device, which gets a session of theirs or a grant, or denies it.
 *
 * @throws DomainError `invalid_state` when it was answered before
 */
export async function answerDevice(
  tx: Tx,
  actor: Actor,
  text: string,
  answer: DeviceReply,
  now: number,
): Promise<FoundDevice> {
  const found = await findDevice(tx, actor, text, now);
  if (found.kind !== "found") return found;
  const { device } = found;
  const decision = decideAnswer(device.status, answer.to);
  if (decision.kind === "refuse") throw new DomainError(decision.code, decision.message);
  const oauthGrantId = answer.to === "approved" ? await answer.grantFor(device) : null;
  await markDevice(tx, device.digest, decision.to, actor.userId, oauthGrantId);
  return { kind: "found", device: { ...device, status: decision.to, userId: actor.userId, oauthGrantId } };
}
