import type { Socket } from "node:net";
import { API_VERSION, HEADERS } from "@keelson/contract";
import { DomainError } from "../../../domain-error.ts";
import { toErrorReply, type ErrorReply } from "../error-reply.ts";
import type { Connection } from "./connection.ts";

/** How long the headers of a request have; Node keeps that time. */
export const HEADERS_TIMEOUT_MS = 20_000;
/** How often Node looks for headers that are late. */
export const HEADERS_LOOK_MS = 1_000;

const JSON_TYPE = "application/json; charset=utf-8";

const tooSlow = (what: string): DomainError =>
  new DomainError("request_timeout", `${what} Send the request again; a write did not happen.`);

/** Answers a request whose body comes too slowly, and closes its connection. */
export function refuseSlowBody({ socket, message, response }: Connection): void {
  // Refused before: its caller was only let finish.
  if (response === null || response.headersSent) return void socket.destroy();
  const requestId = String(response.getHeader(HEADERS.requestId));
  const error = tooSlow("The request's body came too slowly.");
  const { status, body } = toErrorReply(error, requestId);
  const text = JSON.stringify(body);
  // Node forgets a request once it is answered: whoever still reads its body would wait forever.
  socket.once("close", () => message?.destroy(error));
  response
    .writeHead(status, {
      "content-type": JSON_TYPE,
      "content-length": Buffer.byteLength(text),
      connection: "close",
    })
    .end(text);
}

/** Headers that are late, that are too large, or bytes that are not HTTP: there is no request to answer, only a socket. */
export function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || socket.destroyed || !socket.writable) return void socket.destroy();
  // Nobody has asked for anything.
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT" && socket.bytesRead === 0) return void socket.destroy();
  const requestId = "unparsed";
  const { status, body } = describe(error.code, requestId);
  const text = JSON.stringify(body);
  socket.end(
    `HTTP/1.1 ${status === 408 ? "408 Request Timeout" : "400 Bad Request"}\r\nContent-Type: ${JSON_TYPE}\r\n` +
      `Content-Length: ${Buffer.byteLength(text)}\r\n${HEADERS.apiVersion}: ${API_VERSION}\r\n` +
      `${HEADERS.requestId}: ${requestId}\r\nConnection: close\r\n\r\n${text}`,
    // The other half may stay open as long as the caller likes.
    () => socket.destroy(),
  );
}

function describe(code: string | undefined, requestId: string): ErrorReply {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return toErrorReply(tooSlow("The request's headers did not come within 20 seconds."), requestId);
  const message =
    code === "HPE_HEADER_OVERFLOW"
      ? "The request's headers are too large; send fewer or shorter ones."
      : "The request is not valid HTTP/1.1.";
  return toErrorReply(new DomainError("invalid_request", message), requestId);
}
