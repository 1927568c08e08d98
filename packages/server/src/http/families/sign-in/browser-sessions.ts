import { SignedIn } from "@keelson/contract";
import { findUser } from "../../../core/identity/user-reads.ts";
import { startSession } from "../../../core/identity/start-session.ts";
import { giveSession } from "./give-session.ts";
import { signIn, SIGN_IN } from "./sign-in.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import { toUser } from "../account/wire.ts";

export const browserSessionRoutes: RouteDefinition[] = [
  route({
    in: ["api"],
    method: "POST",
    path: "/auth/session",
    name: "startBrowserSession",
    summary: "Sign in this browser",
    description:
      "Exchanges a session for another session of the same user, in a cookie that no script can read. The page of the first login link uses it. " +
      "Signing out ends the new session only.",
    tag: "Signing in",
    access: { kind: "user" },
    signIn: "login",
    responses: { 200: { description: "Signed in.", schema: SignedIn } },
    refusals: [401, 403],
    transaction: "required",
    audit: SIGN_IN,
    handle: async ({ tx, server, scope, audit }) => {
      const { newUuid, makeCredential } = server;
      const user = await findUser(tx, scope.userId);
      if (user === null) throw new Error("A caller's user is not there.");
      const context = { newUuid, makeCredential, now: server.clock() };
      const session = await startSession(tx, scope.userId, "browser", context);
      audit(signIn({ user, session }));
      const { token, headers } = giveSession(server, { text: session.text, email: user.email }, "cookie");
      return { status: 200, headers, body: { user: toUser(user), token } };
    },
  }),
];
