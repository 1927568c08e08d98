/** The link that the first start prints: `/#token=…&project_id=…&environment_id=…`. */

import { API_VERSION, HEADERS } from "@keelson/contract/plain";
import { ApiError } from "@keelson/sdk/browser";
import { send, setCsrfToken } from "../api/client.ts";
import { startBrowserSession } from "../api/routes/signing-in.ts";
import { preferEnvironment } from "./preferred-environment.ts";

let token: string | null = null;

/** Takes the session out of the address and its history before anything else is shown; it is kept in memory alone. */
export function takeLoginLink(): void {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const found = fragment.get("token");
  if (found === null || location.pathname !== "/") return;
  history.replaceState(null, "", location.pathname + location.search);
  token = found;
  const environmentId = fragment.get("environment_id");
  if (environmentId !== null) preferEnvironment(environmentId);
}

/**
 * Exchanges the link's session, if the page was opened by one, for a cookie of this browser.
 *
 * @throws ApiError 401 when it is unknown, expired or revoked
 */
export async function signInByLink(): Promise<void> {
  if (token === null) return;
  try {
    await signInByToken(token);
    token = null;
  } catch (error) {
    if (error instanceof ApiError && error.status !== null && error.status < 500) token = null;
    throw error;
  }
}

/** A session's text, shown once; what stays is another session, as a cookie that no script reads. */
export async function signInByToken(text: string): Promise<void> {
  setCsrfToken(null);
  await send(startBrowserSession, {
    headers: { authorization: `Bearer ${text}`, [HEADERS.apiVersion]: API_VERSION },
  });
}
