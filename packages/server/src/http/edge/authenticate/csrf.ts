import { hash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { HEADERS } from "@keelson/contract";
import { DomainError } from "../../../domain-error.ts";
import type { Method } from "../route.ts";

/**
 * A browser sends its cookie with requests that other sites cause. A request that changes something is taken only from a
 * page of ours: by its origin, and by a token that only such a page can read (`csrf_token` of GET /api/me).
 */
const SAFE: ReadonlySet<Method> = new Set(["GET", "HEAD"]);

/** Made from the session, so that nothing more is stored; it tells nothing of the session. */
export const csrfTokenOf = (session: string): string => hash("sha256", `csrf ${session}`, "base64url");

/**
 * @param publicUrl where callers reach the server; null: wherever the request's Host says, if that is this machine: any
 *   other name could be a stranger's who has it resolve to this server (DNS rebinding)
 * @throws DomainError `csrf_rejected`
 */
export function checkCsrf(
  message: IncomingMessage,
  method: Method,
  session: string,
  publicUrl: string | null,
): void {
  if (SAFE.has(method)) return;
  if (publicUrl === null && !LOOPBACK_HOST.test(message.headers.host ?? "")) {
    throw new DomainError(
      "csrf_rejected",
      "This server has no PUBLIC_URL, so it takes a session cookie only under a loopback host such as localhost. " +
        "Set PUBLIC_URL to the address in the browser and restart the server, or use a bearer token.",
    );
  }
  if (!isOwnOrigin(message, publicUrl)) {
    throw new DomainError(
      "csrf_rejected",
      "A request with a session cookie must come from a page of this server (Origin).",
    );
  }
  const token = message.headers[HEADERS.csrfToken];
  if (typeof token !== "string" || !isSame(token, csrfTokenOf(session))) {
    throw new DomainError(
      "csrf_rejected",
      "Send the csrf_token of GET /api/me as the header X-CSRF-Token, or use a bearer token instead of the cookie.",
    );
  }
}

/** A host of this machine alone, with or without a port. Source: RFC 6761, section 6.3, for `localhost`. */
const LOOPBACK_HOST = /^(([a-z0-9-]+\.)*localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(:\d+)?$/i;

function isOwnOrigin({ headers }: IncomingMessage, publicUrl: string | null): boolean {
  const { origin } = headers;
  const site = headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin") return false;
  // Browsers send Origin with every unsafe request; one that says where it comes from by neither is not a page of ours.
  if (origin === undefined) return site === "same-origin";
  if (publicUrl !== null) return origin === new URL(publicUrl).origin;
  return URL.canParse(origin) && new URL(origin).host === headers.host;
}

function isSame(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
