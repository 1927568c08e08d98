/** Someone who was invited becomes a member: at once when they are new, after signing in when they are not. */

import { RequestError } from "./api.js";
import { call, connect, findUser, offerSignIn, on, showDone, showProblem } from "./account.js";

const byId = (id) => document.getElementById(id);
/** Kept over the sign-in, which ends in another tab; never sent to a server but to be accepted. */
const STORE = "keelson.invitation";
const PAGE = "/invitation";

function takeToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token === null) return localStorage.getItem(STORE);
  history.replaceState(null, "", PAGE);
  localStorage.setItem(STORE, token);
  return token;
}

async function accept() {
  try {
    const accepted = await call("POST", "/api/invitations/accept", { token, session: "cookie" });
    localStorage.removeItem(STORE);
    await findUser();
    showDone(`You are ${accepted.organization.role} of ${accepted.organization.name}.`, "accept-part");
  } catch (error) {
    if (error instanceof RequestError && error.status === 401) await offerSignIn(PAGE);
    throw error;
  }
}

const token = takeToken();
connect(() => PAGE);
on("accept", "click", accept);
try {
  await findUser();
  if (token === null) showDone("Open the link of the invitation's mail.");
  else byId("accept-part").hidden = false;
} catch (error) {
  showProblem(error);
}
