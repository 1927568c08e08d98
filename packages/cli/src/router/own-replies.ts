import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { API_VERSION, HEADERS } from "@keelson/contract/plain";

const JSON_TYPE = "application/json; charset=utf-8";
const RETRY_AFTER_SECONDS = "1";
const VISIBLE = /^[\x21-\x7e]{1,128}$/;

/** Why a cell gave no reply: it got nothing of the request, or it may have acted on it. */
export type Failure = { cell: string; wasReached: boolean };

function replyJson(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  response
    .writeHead(status, {
      "content-type": JSON_TYPE,
      "content-length": Buffer.byteLength(text),
      "cache-control": "no-store",
      [HEADERS.apiVersion]: API_VERSION,
      ...(status === 503 && { "retry-after": RETRY_AFTER_SECONDS }),
    })
    .end(text);
}

function unavailable(request: IncomingMessage, response: ServerResponse, error: object): void {
  const given = request.headers[HEADERS.requestId];
  const id = typeof given === "string" && VISIBLE.test(given) ? given : `req_${randomUUID()}`;
  response.setHeader(HEADERS.requestId, id);
  replyJson(response, 503, { error: { code: "unavailable", ...error, request_id: id } });
}

/** The same error that a server gives without its database, so that clients try again as they do then. */
export function replyUnavailable(
  request: IncomingMessage,
  response: ServerResponse,
  { cell, wasReached }: Failure,
): void {
  // A page of any origin may be the caller; without this it could not read the error. The error tells nothing of the cell's data.
  response.setHeader("access-control-allow-origin", "*");
  response.setHeader("access-control-expose-headers", `retry-after, ${HEADERS.requestId}`);
  unavailable(request, response, {
    message: wasReached
      ? `The connection to the cell ${cell} ended before its reply. Try again; a write may or may not have happened.`
      : `The cell ${cell} cannot be reached right now, and it did not get the request. Try again.`,
    details: { cell },
  });
}

/** The router's own health, which is not that of a cell: one cell that is down is no reason to take the router away. */
export function replyHealth(
  request: IncomingMessage,
  response: ServerResponse,
  { isReady }: { isReady: boolean },
): void {
  if (isReady) return replyJson(response, 200, { status: "ok" });
  unavailable(request, response, {
    message: "The router is stopping; use another one.",
    details: { check: "shutdown" },
  });
}
