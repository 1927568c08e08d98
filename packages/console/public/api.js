/** What the console knows of the server's API: who is signed in, and GET requests that say why they failed. */

const API_VERSION = "2026-06-06";
const TIMEOUT_MS = 10_000;
const STORE = "keelson.credential";
const FIELDS = ["token", "project_id", "environment_id"];

/** A response that is not a success. `code` is the error's code on the wire. */
export class RequestError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Takes the credential out of the login link's fragment, and the fragment out of the address and its history. */
export function acceptLoginLink() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  if (!fragment.has("token")) return;
  history.replaceState(null, "", location.pathname + location.search);
  saveCredential(Object.fromEntries(FIELDS.map((field) => [field, fragment.get(field) ?? ""])));
}

/** `{token, project_id, environment_id}` of this tab, or null. */
export function readCredential() {
  const stored = sessionStorage.getItem(STORE);
  return stored === null ? null : JSON.parse(stored);
}

export function saveCredential(credential) {
  sessionStorage.setItem(STORE, JSON.stringify(credential));
}

export function forgetCredential() {
  sessionStorage.removeItem(STORE);
}

/** An API key is bound to its environment; a user names one. */
export function isApiKey({ token }) {
  return token.startsWith("kl_key_");
}

/** Whether the server takes work. Throws only when it cannot be reached. */
export async function readReadiness() {
  const response = await fetch("/readyz", { cache: "no-store", signal: AbortSignal.timeout(TIMEOUT_MS) });
  return response.ok;
}

export async function readServerVersion() {
  const document = await get("/openapi.json");
  return document.info.version;
}

/** GETs a JSON resource of the signed-in environment. Throws RequestError, or TypeError when there is no answer. */
export async function get(path, query = {}) {
  const credential = readCredential();
  const url = new URL(path, location.origin);
  const headers = { "Service-API-Version": API_VERSION, Accept: "application/json" };
  if (credential !== null && path.startsWith("/api/")) {
    headers.Authorization = `Bearer ${credential.token}`;
    if (!isApiKey(credential)) {
      url.searchParams.set("project_id", credential.project_id);
      url.searchParams.set("environment_id", credential.environment_id);
    }
  }
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  const response = await fetch(url, { headers, cache: "no-store", signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (response.ok) return response.json();
  throw await readError(response);
}

async function readError(response) {
  const text = await response.text();
  try {
    const { error } = JSON.parse(text);
    return new RequestError(response.status, error.code, error.message);
  } catch (cause) {
    const error = new RequestError(response.status, "unknown", `The server answered ${response.status}.`);
    error.cause = cause;
    return error;
  }
}
