import { SESSION_COOKIE, setCookie } from "./cookies.ts";
import type { ReplyHeaders } from "./route.ts";

/** A new session goes to the caller once: in the answer's body, or as a cookie that no script reads. */
export function giveSession(
  session: string | null,
  form: "token" | "cookie" | undefined,
  isSecure: boolean,
): { token: string | null; headers: ReplyHeaders } {
  if (session === null || form !== "cookie") return { token: session, headers: {} };
  return { token: null, headers: { "set-cookie": setCookie(SESSION_COOKIE, session, isSecure) } };
}
