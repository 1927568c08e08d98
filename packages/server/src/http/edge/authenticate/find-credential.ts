import type { IncomingMessage } from "node:http";
import { bearerOf } from "@keelson/contract";
import { cookieOf, SESSION_COOKIE } from "../cookies.ts";
import type { Route } from "../route.ts";

/** What a caller shows: whether it is the browser's cookie, and whether a route of this server calls in its name. */
export type ShownCredential = { text: string; isCookie: boolean; isInner: boolean };

/** For an import of it Node evaluates all exports, and one is the client behind `fetch`: 55 ms of processor at each start. */
const http = process.getBuiltinModule("node:http");

/** What comes by a connection is a message of Node.js; what a handler injects (see `InnerCalls`) is none. */
const isInjected = (message: IncomingMessage): boolean => !(message instanceof http.IncomingMessage);

/** Pages of ours call these families, and show their session by its cookie. */
export const takesCookie = (family: Route["family"]): boolean => family === "api" || family === "admin";

/** A bearer credential wins; the cookie is for pages of ours, which call these families only. */
export function findCredential(
  message: IncomingMessage,
  { access, family }: Route,
  isSecure: boolean,
): ShownCredential | null {
  if (access.kind === "public") return null;
  // One that cannot be read is no bearer, but neither a reason to look at the cookie.
  if (message.headers.authorization !== undefined) {
    const bearer = bearerOf(message.headers.authorization);
    return bearer === null ? null : { text: bearer, isCookie: false, isInner: isInjected(message) };
  }
  if (message.headers.cookie === undefined || !takesCookie(family)) return null;
  const cookie = cookieOf(message, SESSION_COOKIE, isSecure);
  return cookie === null ? null : { text: cookie, isCookie: true, isInner: false };
}
