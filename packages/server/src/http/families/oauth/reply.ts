import type { OauthError } from "@keelson/contract";
import { refuse, type OauthErrorCode, type OauthRefusal } from "../../../core/oauth/oauth.ts";
import type { Reply } from "../../edge/route.ts";

/** A refusal in the form of RFC 6749, section 5.2. What was done before it stays done. */
export function refusalReply({ error, message }: OauthRefusal): Reply {
  const body: OauthError = { error, error_description: message };
  return { status: error === "invalid_client" ? 401 : 400, body };
}

export const refused = (error: OauthErrorCode, message: string): Reply =>
  refusalReply(refuse(error, message));

export const unknownClient = (): Reply =>
  refused(
    "invalid_client",
    "This client_id is not registered here, or its registration was dropped. Register again.",
  );
