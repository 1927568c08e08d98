import type { IncomingMessage } from "node:http";
import { makeBrowserProof, readBrowserProof } from "../../../core/logins/known-browser.ts";
import type { ServerContext } from "../../../server-context.ts";
import { BROWSER_COOKIE, cookieOf, setCookie } from "../../edge/cookies.ts";

/** A `Set-Cookie` line by which this browser is known as one in which the person signed in. */
export const rememberBrowser = ({ isSecure, masterKey, randomBytes }: ServerContext, email: string): string =>
  setCookie(BROWSER_COOKIE, makeBrowserProof(masterKey, email, randomBytes), isSecure);

/** The id of a browser in which the person signed in before; null for any other. */
export const knownBrowserOf = (
  { isSecure, masterKey }: ServerContext,
  email: string,
  message: IncomingMessage,
): string | null => readBrowserProof(masterKey, email, cookieOf(message, BROWSER_COOKIE, isSecure));
