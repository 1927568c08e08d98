import { encodeId } from "@keelson/contract";
import { endSession } from "../../../core/identity/end-session.ts";
import { clearCookie, SESSION_COOKIE } from "../../edge/cookies.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";

export const logoutRoutes: RouteDefinition[] = [
  route({
    in: ["api"],
    method: "POST",
    path: "/auth/logout",
    name: "logOut",
    summary: "Sign out",
    description:
      "Ends the session of this request. This server refuses it from the next request on, other servers within 100 ms.",
    tag: "Signing in",
    access: { kind: "user" },
    responses: { 204: { description: "Signed out." } },
    transaction: "required",
    audit: { action: "user_sessions.end", resource: "user_session" },
    handle: async ({ tx, server, scope, audit, onCommit }) => {
      await endSession(tx, scope, server.clock());
      audit({ id: encodeId("usess", scope.sessionId) });
      onCommit(() => server.credentialCache.forget({ kind: "session", id: scope.sessionId }));
      return {
        status: 204,
        headers: { "set-cookie": clearCookie(SESSION_COOKIE, server.isSecure) },
        body: undefined,
      };
    },
  }),
];
