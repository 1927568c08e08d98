/** What the pages share: the session, which is a cookie that no script reads, and signing in. */

import { request, RequestError, setCsrfToken } from "./api.js";

const byId = (id) => document.getElementById(id);

/** Calls the API by the browser's session. Throws RequestError, or TypeError when there is no answer. */
export const call = (method, path, body) => request(method, path, { body });

/** The signed-in user with their organizations, shown at the top; null when nobody is. */
export async function findUser() {
  setCsrfToken(null);
  try {
    const me = await call("GET", "/api/me");
    setCsrfToken(me.csrf_token);
    byId("who").textContent = me.user.email;
    for (const id of ["who", "sign-out"]) byId(id).hidden = false;
    byId("sign-in").hidden = true;
    return me;
  } catch (error) {
    if (error instanceof RequestError && error.status === 401) return null;
    throw error;
  }
}

/** Exchanges a session's text for the cookie; the text is kept nowhere. */
export async function signInBy(token) {
  setCsrfToken(null);
  await request("POST", "/api/auth/session", { bearer: token });
}

/** Shows how to sign in; whoever has comes back to `returnTo`. */
export async function offerSignIn(returnTo) {
  byId("sign-in").hidden = false;
  const start = `/api/auth/github/start?${new URLSearchParams({ return_to: returnTo })}`;
  byId("github-link").href = start;
  // Where it is set up the answer is a redirect, which is not followed here.
  const response = await fetch(start, { redirect: "manual", cache: "no-store" });
  byId("github").hidden = response.type !== "opaqueredirect";
}

export function showProblem(error) {
  byId("problem").textContent =
    error instanceof RequestError ? error.message : "The server does not answer. Try again.";
  byId("problem").hidden = false;
}

/** Tells how it ended; nothing else is left to do on the page. */
export function showDone(text, ...sections) {
  for (const id of ["problem", "sign-in", ...sections]) byId(id).hidden = true;
  byId("done").textContent = text;
  byId("done").hidden = false;
}

/** Runs what a click or a submitted form asks for, and shows why it failed. */
export function on(id, event, work) {
  byId(id).addEventListener(event, (happened) => {
    happened.preventDefault();
    byId("problem").hidden = true;
    Promise.resolve(happened).then(work).catch(showProblem);
  });
}

/** The parts that all pages have. */
export function connect(returnTo) {
  on("sign-in-form", "submit", async ({ target }) => {
    const email = String(target.elements.email.value);
    await call("POST", "/api/auth/magic-link/start", { email, return_to: returnTo() });
    showDone(
      `If ${email} has an account, a link is on its way. Open it in this browser within 15 minutes. ` +
        "Without a mail server the link stands where the Keelson server writes its output.",
    );
  });
  on("sign-out", "click", async () => {
    await call("POST", "/api/auth/logout", {});
    location.reload();
  });
}
