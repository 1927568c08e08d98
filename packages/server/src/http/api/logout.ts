import { encodeId } from "@keelson/contract";
import { endSession } from "../../core/logins/end-session.ts";
import { clearCookie, SESSION_COOKIE } from "../cookies.ts";
import { route, type Route } from "../route.ts";

export const logoutRoutes: Route[] = [
  route({
    family: "api",
    method: "POST",
    path: "/api/auth/logout",
    operationId: "logOut",
    summary: "Sign out",
    description: "Ends the session that the request shows; every server refuses it within a second.",
    tag: "Signing in",
    access: { kind: "user" },
    responses: { 204: { description: "Signed out." } },
    audit: { action: "user_sessions.end", resource: "user_session" },
    handle: async ({ server, scope, audited }) => {
      await audited(
        (tx) => endSession(tx, scope, server.clock()),
        () => ({ id: encodeId("usess", scope.sessionId) }),
      );
      return {
        status: 204,
        headers: { "set-cookie": clearCookie(SESSION_COOKIE, server.isSecure) },
        body: undefined,
      };
    },
  }),
];
