/** Calls of the server's API as a page of it makes them: by the session's cookie, which no script reads. */

const API_VERSION = "2026-06-06";
const TIMEOUT_MS = 10_000;

/** A response that is not a success. `code` is the error's code on the wire. */
export class RequestError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

let csrfToken = null;

/** What unsafe requests must carry; of `GET /api/me`. */
export function setCsrfToken(token) {
  csrfToken = token;
}

/**
 * `bearer` is shown instead of the cookie. Throws RequestError, or TypeError when there is no answer.
 *
 * @param {{query?: object, body?: object, bearer?: string}} [options]
 */
export async function request(method, path, { query = {}, body, bearer } = {}) {
  const url = new URL(path, location.origin);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  const headers = { "Service-API-Version": API_VERSION, Accept: "application/json" };
  if (bearer !== undefined) headers.Authorization = `Bearer ${bearer}`;
  if (csrfToken !== null) headers["X-CSRF-Token"] = csrfToken;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const init = { method, headers, cache: "no-store", signal: AbortSignal.timeout(TIMEOUT_MS) };
  if (body !== undefined) init.body = JSON.stringify(body);
  const response = await fetch(url, init);
  if (response.status === 204) return null;
  if (response.ok) return response.json();
  throw await readError(response);
}

export const get = (path, query) => request("GET", path, { query });

/** All rows of a list that is read page by page. */
export async function getAll(path, name, query = {}) {
  const rows = [];
  for (let cursor = null; ;) {
    const page = await get(path, { ...query, limit: 200, ...(cursor === null ? {} : { cursor }) });
    rows.push(...page[name]);
    cursor = page.next_cursor;
    if (cursor === null) return rows;
  }
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
