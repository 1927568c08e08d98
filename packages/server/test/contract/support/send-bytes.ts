// Requests as bytes on a socket of their own: fetch would put right, or refuse, what is to be sent wrong.

import { connect } from "node:net";

export type ByteRequest = {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array;
  /** The server may wait for more of it: the sender soon hangs up, and need not be answered. */
  readonly isIncomplete?: boolean;
};

export type ByteAnswer = { status: number; headers: Map<string, string>; text: string };

const PATIENCE_MS = 8_000;
const INCOMPLETE_PATIENCE_MS = 40;

/**
 * Sends it and reads the answer, of an event stream only the headers.
 *
 * @returns null when the connection ended without an answer. Rejects when there is none in time.
 */
export function sendBytes(serverUrl: string, request: ByteRequest): Promise<ByteAnswer | null> {
  const { hostname, port } = new URL(serverUrl);
  const lines = [
    `${request.method} ${request.target} HTTP/1.1`,
    ...request.headers.map(([name, value]) => `${name}: ${value}`),
    "Connection: close",
  ];
  const head = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) });
    const chunks: Buffer[] = [];
    const settle = (): void => {
      clearTimeout(timer);
      clearTimeout(hangUp);
      socket.destroy();
      resolve(parseAnswer(Buffer.concat(chunks).toString("latin1")));
    };
    const hangUp =
      request.isIncomplete === true ? setTimeout(() => socket.end(), INCOMPLETE_PATIENCE_MS) : undefined;
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`no answer within ${PATIENCE_MS} ms`));
    }, PATIENCE_MS);
    let isHeadRead = false;
    socket.on("data", (chunk) => {
      chunks.push(chunk);
      if (isHeadRead) return;
      const answer = parseAnswer(Buffer.concat(chunks).toString("latin1"));
      isHeadRead = answer !== null;
      if (answer?.headers.get("content-type")?.startsWith("text/event-stream") === true) settle();
    });
    // A reset after the answer loses nothing: it is in the chunks.
    socket.on("error", settle);
    socket.on("close", settle);
    socket.write(Buffer.concat([head, request.body]));
  });
}

function parseAnswer(received: string): ByteAnswer | null {
  const end = received.indexOf("\r\n\r\n");
  if (end < 0) return null;
  const [statusLine = "", ...lines] = received.slice(0, end).split("\r\n");
  const status = /^HTTP\/1\.1 ([0-9]{3})/.exec(statusLine)?.[1];
  if (status === undefined) throw new Error(`not an answer: ${statusLine}`);
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const rest = received.slice(end + 4);
  // 100 Continue comes before the answer.
  if (status.startsWith("1")) return parseAnswer(rest);
  // Bytes after the request may be answered as well, as a request that is none.
  const content = rest.slice(0, Number(headers.get("content-length") ?? rest.length));
  return { status: Number(status), headers, text: Buffer.from(content, "latin1").toString() };
}
