import {
  CREDENTIAL_KINDS,
  FinishMagicLink,
  FinishMagicLinkQuery,
  parseCredential,
  SignedIn,
  StartedMagicLink,
  StartMagicLink,
} from "@keelson/contract";
import { finishMagicLink, type FinishedLink } from "../../../core/logins/finish-magic-link.ts";
import { startMagicLink } from "../../../core/logins/start-magic-link.ts";
import { magicLinkMail } from "../../../core/logins/write-mails.ts";
import type { ServerContext } from "../../../server-context.ts";
import { UNAUDITED } from "../../edge/audit.ts";
import { cookieOf, MAGIC_LINK_COOKIE, SESSION_COOKIE, setCookie } from "../../edge/cookies.ts";
import { knownBrowserOf, rememberBrowser } from "./known-browser.ts";
import { giveSession } from "./give-session.ts";
import { signIn, SIGN_IN } from "./sign-in.ts";
import { route, type ChangeCall, type RequestFacts, type RouteDefinition } from "../../edge/route.ts";
import { toUser } from "../account/wire.ts";
import { toTimestamp } from "../../edge/time.ts";

const tag = "Signing in";
const DAY_SECONDS = 86_400;

/** The browser's own nonce, so that the first of two links that it asked for is as good as the second. */
function nonceOf({ makeCredential, isSecure }: ServerContext, { message }: RequestFacts): string {
  const kept = cookieOf(message, MAGIC_LINK_COOKIE, isSecure);
  return kept !== null && parseCredential(kept) === CREDENTIAL_KINDS.magicLink
    ? kept
    : makeCredential(CREDENTIAL_KINDS.magicLink).text;
}

type FinishCall = Pick<ChangeCall<{ kind: "public" }>, "tx" | "server" | "audit">;

async function finish(
  { tx, server: { newUuid, makeCredential, clock }, audit }: FinishCall,
  link: { token: string; nonce: string | null },
): Promise<FinishedLink> {
  const finished = await finishMagicLink(tx, link, { newUuid, makeCredential, now: clock() });
  audit(signIn(finished));
  return finished;
}

export const magicLinkRoutes: RouteDefinition[] = [
  route({
    in: ["api"],
    method: "POST",
    path: "/auth/magic-link/start",
    name: "startMagicLink",
    summary: "Ask for a sign-in link",
    description:
      "Mails a link that signs in once, within 15 minutes, in the browser that requested it: a browser gets a cookie, and other clients the " +
      "`nonce`. The response is the same for an address without an account. Without SMTP, the server shows the link on its terminal, or writes it " +
      "to the folder `mail` in its data folder.",
    tag,
    access: { kind: "public" },
    signIn: "login",
    body: StartMagicLink,
    audit: UNAUDITED.asking,
    responses: {
      202: { description: "If the address has an account, a link is sent.", schema: StartedMagicLink },
    },
    transaction: "required",
    handle: async ({ tx, server, body, request, onCommit }) => {
      const { makeCredential, isSecure } = server;
      const nonce = nonceOf(server, request);
      const knownBrowser = knownBrowserOf(server, body.email, request.message);
      const asker = { address: request.address, knownBrowser };
      const context = { makeCredential, now: server.clock() };
      const started = await startMagicLink(tx, body, nonce, asker, context);
      if (started.to !== null) {
        const mail = magicLinkMail(started.to, server.publicUrl(), started.token);
        onCommit(() => server.mail.send(mail));
      }
      return {
        status: 202,
        headers: { "set-cookie": setCookie(MAGIC_LINK_COOKIE, nonce, isSecure, DAY_SECONDS) },
        body: { nonce, expires_at: toTimestamp(started.expiresAt) },
      };
    },
  }),
  route({
    in: ["api"],
    method: "GET",
    path: "/auth/magic-link/finish",
    name: "openMagicLink",
    summary: "Sign in by a link, in a browser",
    description:
      "The target of the mailed link. Needs the cookie of the browser that asked for the link, sets the session cookie and redirects to `return_to`.",
    tag,
    access: { kind: "public" },
    signIn: "login",
    query: FinishMagicLinkQuery,
    responses: { 303: { description: "Signed in; on to the console." } },
    refusals: [401],
    transaction: "required",
    audit: SIGN_IN,
    handle: async ({ query, request, ...call }) => {
      const { server } = call;
      const { isSecure } = server;
      const nonce = cookieOf(request.message, MAGIC_LINK_COOKIE, isSecure);
      const { session, user, returnTo } = await finish(call, { token: query.token, nonce });
      return {
        status: 303,
        headers: {
          location: returnTo ?? "/",
          "referrer-policy": "no-referrer",
          "set-cookie": [
            setCookie(SESSION_COOKIE, session.text, isSecure),
            rememberBrowser(server, user.email),
          ],
        },
        body: undefined,
      };
    },
  }),
  route({
    in: ["api"],
    method: "POST",
    path: "/auth/magic-link/finish",
    name: "finishMagicLink",
    summary: "Sign in by a link",
    description: "Needs the token of the link and, without the cookie, the `nonce` of the start.",
    tag,
    access: { kind: "public" },
    signIn: "login",
    body: FinishMagicLink,
    responses: { 200: { description: "Signed in.", schema: SignedIn } },
    refusals: [401, 403],
    transaction: "required",
    audit: SIGN_IN,
    handle: async ({ body, request, ...call }) => {
      const { server } = call;
      const nonce = body.nonce ?? cookieOf(request.message, MAGIC_LINK_COOKIE, server.isSecure);
      const { session, user } = await finish(call, { token: body.token, nonce });
      const { token, headers } = giveSession(server, { text: session.text, email: user.email }, body.session);
      return { status: 200, headers, body: { user: toUser(user), token } };
    },
  }),
];
