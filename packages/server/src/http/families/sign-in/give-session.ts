import type { ServerContext } from "../../../server-context.ts";
import { SESSION_COOKIE, setCookie } from "../../edge/cookies.ts";
import { rememberBrowser } from "./known-browser.ts";
import type { ReplyHeaders } from "../../edge/route.ts";

/** A new session goes to the caller once: in the answer's body, or as a cookie that no script reads. */
export function giveSession(
  server: ServerContext,
  session: { text: string; email: string } | null,
  form: "token" | "cookie" | undefined,
): { token: string | null; headers: ReplyHeaders } {
  if (session === null || form !== "cookie") return { token: session?.text ?? null, headers: {} };
  const cookies = [
    setCookie(SESSION_COOKIE, session.text, server.isSecure),
    rememberBrowser(server, session.email),
  ];
  return { token: null, headers: { "set-cookie": cookies } };
}
