import { encodeId, type Uuid } from "@keelson/contract";
import type { StartedSession } from "../../../core/identity/start-session.ts";
import type { AuditTarget } from "../../edge/audit.ts";

/** Every way to sign in leaves the same event, in the installation's chain: a session is of no organization. */
export const SIGN_IN = { action: "user_sessions.create", resource: "user_session" } as const;

/** The event's part that tells who has signed in, and how. */
export const signIn = ({
  user,
  session,
}: {
  user: { id: Uuid<"user"> };
  session: StartedSession;
}): AuditTarget => ({
  id: encodeId("usess", session.id),
  userId: user.id,
  details: { method: session.method },
});
