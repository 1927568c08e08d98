import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { invalidRequest } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import type { Actor } from "../identity/identity.ts";
import { answerDevice, type FoundDevice } from "../logins/answer-device.ts";
import type { DeviceRow } from "../logins/device-reads.ts";
import { makeGrant, type ChosenPlace, type MadeGrant } from "./make-grant.ts";

/**
 * A person approves a device by its code. One that asks by OAuth gets a grant, so they say for what; any other gets a session
 * of theirs.
 *
 * @throws DomainError as `answerDevice` and `makeGrant`; `invalid_request` for a choice that is missing, or that nobody asked for
 */
export async function approveDevice(
  tx: Tx,
  actor: Actor,
  userCode: string,
  chosen: ChosenPlace | null,
  { newUuid, now }: { newUuid: NewUuid; now: number },
): Promise<{ found: FoundDevice; grant: MadeGrant | null }> {
  const made: { grant: MadeGrant | null } = { grant: null };
  const grantFor = async (device: DeviceRow): Promise<Uuid<"ogr"> | null> => {
    const { oauthClientId: clientId, oauthAccess: access, expiresAt } = device;
    if (clientId === null || access === null) {
      if (chosen === null) return null;
      throw invalidRequest([{ path: "grant", message: "this device asks for a session; leave it out" }]);
    }
    if (chosen === null)
      throw invalidRequest([{ path: "grant", message: "say where the client may act, and how" }]);
    made.grant = await makeGrant(tx, actor, { clientId, access }, chosen, {
      code: null,
      expiresAt,
      newUuid,
      now,
    });
    return made.grant.id;
  };
  const found = await answerDevice(tx, actor, userCode, { to: "approved", grantFor }, now);
  return { found, ...made };
}
