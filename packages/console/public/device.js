/** A person approves, or denies, the sign-in of a device that shows them a code. */

import { call, connect, findUser, offerSignIn, on, showDone, showProblem } from "./account.js";

const byId = (id) => document.getElementById(id);
const input = document.querySelector("[name=user_code]");

const returnTo = () => `/device#${new URLSearchParams({ user_code: input.value })}`;

async function showDevice() {
  const query = new URLSearchParams({ user_code: input.value });
  const device = await call("GET", `/api/auth/device/status?${query}`);
  if (device.status !== "pending") {
    showDone(`This sign-in was ${device.status} before.`, "code");
    return;
  }
  byId("client").textContent = device.client_id ?? "A device";
  byId("shown-code").textContent = device.user_code;
  byId("code").hidden = true;
  byId("answer").hidden = false;
}

const answer = (verb, told) => async () => {
  await call("POST", `/api/auth/device/${verb}`, { user_code: input.value });
  showDone(told, "answer");
};

connect(returnTo);
on("code-form", "submit", showDevice);
on("approve", "click", answer("approve", "Approved. The device goes on by itself; you can close this page."));
on("deny", "click", answer("deny", "Denied. The device does not get in."));

input.value = new URLSearchParams(location.hash.slice(1)).get("user_code") ?? "";
try {
  if ((await findUser()) === null) await offerSignIn(returnTo());
  else {
    byId("code").hidden = false;
    if (input.value !== "") await showDevice();
  }
} catch (error) {
  showProblem(error);
}
