import { hash } from "node:crypto";
import { FinishGithubQuery, StartGithubQuery } from "@keelson/contract";
import type { Github } from "../../../core/github.ts";
import { finishGithub } from "../../../core/logins/finish-github.ts";
import { DomainError } from "../../../domain-error.ts";
import type { ServerContext } from "../../../server-context.ts";
import { clearCookie, cookieOf, GITHUB_COOKIE, SESSION_COOKIE, setCookie } from "../../edge/cookies.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import { signIn, SIGN_IN } from "./sign-in.ts";

const tag = "Signing in";
const COOKIE_SECONDS = 600;

/** @throws DomainError `not_found` where it is not set up */
function requireGithub({ github }: ServerContext): Github {
  if (github !== null) return github;
  throw new DomainError(
    "not_found",
    "Sign-in by GitHub is not set up here. Sign in by mail, or set GITHUB_CLIENT_ID and GITHUB_CLIENT_SECRET.",
  );
}

const redirectUri = ({ publicUrl }: ServerContext): string => `${publicUrl()}/api/auth/github/finish`;

/**
 * What the browser keeps between start and finish: state, PKCE verifier and where to go on, so that the server keeps
 * nothing. Whoever changes the cookie changes only their own sign-in.
 */
type Kept = { state: string; verifier: string; returnTo: string };

const toCookie = ({ state, verifier, returnTo }: Kept): string =>
  `${state}.${verifier}.${Buffer.from(returnTo).toString("base64url")}`;

function fromCookie(text: string | null): Kept | null {
  const [state, verifier, path, ...rest] = text?.split(".") ?? [];
  if (!state || !verifier || path === undefined || rest.length > 0) return null;
  const returnTo = Buffer.from(path, "base64url").toString();
  // Written by us, but kept by the browser: it must still be a path of ours.
  return { state, verifier, returnTo: /^\/(?![/\\])[!-~]*$/.test(returnTo) ? returnTo : "/" };
}

export const githubRoutes: RouteDefinition[] = [
  route({
    in: ["api"],
    method: "GET",
    path: "/auth/github/start",
    name: "startGithub",
    summary: "Sign in by GitHub",
    description: "Redirects the browser to GitHub, which redirects it back to `finish`.",
    tag,
    access: { kind: "public" },
    signIn: "login",
    query: StartGithubQuery,
    responses: { 303: { description: "On to GitHub." } },
    refusals: [404],
    handle: async ({ server, query }) => {
      const github = requireGithub(server);
      const random = (): string => Buffer.from(server.randomBytes(32)).toString("base64url");
      const kept = { state: random(), verifier: random(), returnTo: query.return_to ?? "/" };
      const location = github.authorizeUrl({
        state: kept.state,
        challenge: hash("sha256", kept.verifier, "base64url"),
        redirectUri: redirectUri(server),
      });
      const cookie = setCookie(GITHUB_COOKIE, toCookie(kept), server.isSecure, COOKIE_SECONDS);
      return {
        status: 303,
        headers: { location, "set-cookie": cookie },
        body: undefined,
      };
    },
  }),
  route({
    in: ["api"],
    method: "GET",
    path: "/auth/github/finish",
    name: "finishGithub",
    summary: "Come back from GitHub",
    description:
      "Signs in the user whose address GitHub has verified as the account's primary one, with the session as a cookie. " +
      "A person without an account or invitation gets 403 `forbidden`.",
    tag,
    access: { kind: "public" },
    signIn: "login",
    query: FinishGithubQuery,
    responses: { 303: { description: "Signed in; on to the console." } },
    refusals: [401, 403, 404],
    transaction: "required",
    audit: SIGN_IN,
    prepare: async ({ server, query, request }) => {
      const github = requireGithub(server);
      const kept = fromCookie(cookieOf(request.message, GITHUB_COOKIE, server.isSecure));
      if (kept === null || query.state !== kept.state || query.code === undefined) {
        throw new DomainError(
          "unauthenticated",
          query.error === undefined
            ? "This sign-in was not started in this browser, or is too old. Start it again."
            : "GitHub ended the sign-in. Start it again.",
        );
      }
      const { verifier, returnTo } = kept;
      const account = await github.findAccount({
        code: query.code,
        verifier,
        redirectUri: redirectUri(server),
      });
      return { account, returnTo };
    },
    handle: async ({ tx, server, prepared: { account, returnTo }, audit }) => {
      const { newUuid, makeCredential, isSecure } = server;
      const context = { newUuid, makeCredential, now: server.clock() };
      const signedIn = await finishGithub(tx, account, context);
      audit(signIn(signedIn));
      return {
        status: 303,
        headers: {
          location: returnTo,
          "set-cookie": [
            setCookie(SESSION_COOKIE, signedIn.session.text, isSecure),
            clearCookie(GITHUB_COOKIE, isSecure),
          ],
        },
        body: undefined,
      };
    },
  }),
];
