import {
  CREDENTIAL_KINDS,
  FinishMagicLink,
  FinishMagicLinkQuery,
  parseCredential,
  SignedIn,
  StartedMagicLink,
  StartMagicLink,
} from "@keelson/contract";
import { finishMagicLink } from "../../core/logins/finish-magic-link.ts";
import { startMagicLink } from "../../core/logins/start-magic-link.ts";
import { magicLinkMail } from "../../core/logins/write-mails.ts";
import type { ServerContext } from "../../server-context.ts";
import { UNAUDITED, type Audited } from "../audit.ts";
import { cookieOf, MAGIC_LINK_COOKIE, SESSION_COOKIE, setCookie } from "../cookies.ts";
import { giveSession } from "../give-session.ts";
import { signIn, SIGN_IN } from "../sign-in.ts";
import { route, type RequestFacts, type Route } from "../route.ts";
import { toUser } from "../wire/identity.ts";
import { toTimestamp } from "../wire/time.ts";

const tag = "Signing in";
const DAY_SECONDS = 86_400;

/** The browser's own nonce, so that the first of two links that it asked for is as good as the second. */
function nonceOf({ makeCredential, isSecure }: ServerContext, { message }: RequestFacts): string {
  const kept = cookieOf(message, MAGIC_LINK_COOKIE, isSecure);
  return kept !== null && parseCredential(kept) === CREDENTIAL_KINDS.magicLink
    ? kept
    : makeCredential(CREDENTIAL_KINDS.magicLink).text;
}

function finish(server: ServerContext, audited: Audited, token: string, nonce: string | null) {
  const { newUuid, makeCredential } = server;
  const context = { newUuid, makeCredential, now: server.clock() };
  return audited((tx) => finishMagicLink(tx, { token, nonce }, context), signIn);
}

export const magicLinkRoutes: Route[] = [
  route({
    family: "api",
    method: "POST",
    path: "/api/auth/magic-link/start",
    operationId: "startMagicLink",
    summary: "Ask for a sign-in link",
    description:
      "Mails a link that signs in once, within 15 minutes, in the browser that asked: it gets a cookie, and anyone else the `nonce`. " +
      "The answer is the same for an address without an account. Without SMTP the link is printed on the server's standard error.",
    tag,
    access: { kind: "public" },
    signIn: "login",
    body: StartMagicLink,
    audit: UNAUDITED.asking,
    responses: {
      202: { description: "If the address has an account, a link is sent.", schema: StartedMagicLink },
    },
    handle: async ({ server, body, request }) => {
      const { makeCredential, isSecure } = server;
      const nonce = nonceOf(server, request);
      const started = await server.db.transaction((tx) =>
        startMagicLink(tx, body, nonce, { makeCredential, now: server.clock() }),
      );
      if (started.to !== null) server.mail.send(magicLinkMail(started.to, server.publicUrl(), started.token));
      return {
        status: 202,
        headers: { "set-cookie": setCookie(MAGIC_LINK_COOKIE, nonce, isSecure, DAY_SECONDS) },
        body: { nonce, expires_at: toTimestamp(started.expiresAt) },
      };
    },
  }),
  route({
    family: "api",
    method: "GET",
    path: "/api/auth/magic-link/finish",
    operationId: "openMagicLink",
    summary: "Sign in by a link, in a browser",
    description:
      "Where the mailed link leads. Needs the cookie of the browser that asked; answers with the session as a cookie and goes on to `return_to`.",
    tag,
    access: { kind: "public" },
    signIn: "login",
    query: FinishMagicLinkQuery,
    responses: { 303: { description: "Signed in; on to the console." } },
    audit: SIGN_IN,
    handle: async ({ server, query, request, audited }) => {
      const { isSecure } = server;
      const nonce = cookieOf(request.message, MAGIC_LINK_COOKIE, isSecure);
      const { session, returnTo } = await finish(server, audited, query.token, nonce);
      return {
        status: 303,
        headers: {
          location: returnTo ?? "/",
          "cache-control": "no-store",
          "referrer-policy": "no-referrer",
          "set-cookie": setCookie(SESSION_COOKIE, session.text, isSecure),
        },
        body: undefined,
      };
    },
  }),
  route({
    family: "api",
    method: "POST",
    path: "/api/auth/magic-link/finish",
    operationId: "finishMagicLink",
    summary: "Sign in by a link",
    description: "With the link's token, and the `nonce` of the start where there is no cookie.",
    tag,
    access: { kind: "public" },
    signIn: "login",
    body: FinishMagicLink,
    responses: { 200: { description: "Signed in.", schema: SignedIn } },
    audit: SIGN_IN,
    handle: async ({ server, body, request, audited }) => {
      const { isSecure } = server;
      const nonce = body.nonce ?? cookieOf(request.message, MAGIC_LINK_COOKIE, isSecure);
      const { session, user } = await finish(server, audited, body.token, nonce);
      const { token, headers } = giveSession(session.text, body.session, isSecure);
      return { status: 200, headers, body: { user: toUser(user), token } };
    },
  }),
];
