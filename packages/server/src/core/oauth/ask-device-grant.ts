import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { askDevice } from "../logins/ask-device.ts";
import { giveTokens, notGranted, type TokenContext, type TokenOutcome } from "./give-tokens.ts";
import { lockGrant } from "./grant-reads.ts";
import { decideFirst, refuse } from "./oauth.ts";

/** A device asks for the tokens of its grant (RFC 8628, section 3.4), which it gets once, after somebody has approved it. */
export async function askDeviceGrant(
  tx: Tx,
  { clientId, deviceCode }: { clientId: Uuid<"ocl">; deviceCode: string },
  context: TokenContext,
): Promise<TokenOutcome> {
  const asked = await askDevice(tx, deviceCode, clientId, context.now);
  if (asked.kind === "refuse") return refuse(asked.code, asked.message);
  const { oauthGrantId } = asked.device;
  const grant = oauthGrantId === null ? null : await lockGrant(tx, oauthGrantId);
  if (grant === null || grant.role === null) return notGranted();
  return giveTokens(tx, grant, decideFirst(grant, context.now), context);
}
