import { SignedIn } from "@keelson/contract";
import { findUser } from "../../core/identity/user-reads.ts";
import { startSession } from "../../core/logins/start-session.ts";
import { giveSession } from "../give-session.ts";
import { signIn, SIGN_IN } from "../sign-in.ts";
import { route, type Route } from "../route.ts";
import { toUser } from "../wire/identity.ts";

export const browserSessionRoutes: Route[] = [
  route({
    family: "api",
    method: "POST",
    path: "/api/auth/session",
    operationId: "startBrowserSession",
    summary: "Sign in this browser",
    description:
      "For whoever shows a session: another one of the same user, as a cookie that no script reads. What a page does with the login link of the first start. Signing out ends it, and not the one that was shown.",
    tag: "Signing in",
    access: { kind: "user" },
    signIn: "login",
    responses: { 200: { description: "Signed in.", schema: SignedIn } },
    audit: SIGN_IN,
    handle: async ({ server, scope, audited }) => {
      const { newUuid, makeCredential, isSecure } = server;
      const context = { newUuid, makeCredential, now: server.clock() };
      const { user, session } = await audited(async (tx) => {
        const found = await findUser(tx, scope.userId);
        if (found === null) throw new Error("A caller's user is not there.");
        return { user: found, session: await startSession(tx, scope.userId, "browser", context) };
      }, signIn);
      const { token, headers } = giveSession(session.text, "cookie", isSecure);
      return { status: 200, headers, body: { user: toUser(user), token } };
    },
  }),
];
