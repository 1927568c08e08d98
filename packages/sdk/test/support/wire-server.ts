import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One request as the server saw it. */
export type Seen = { method: string; path: string; headers: IncomingMessage["headers"]; body: unknown };

export type Handler = (
  seen: Seen,
  response: ServerResponse,
  request: IncomingMessage,
) => void | Promise<void>;

/** A real HTTP server that answers as one test says and remembers what it was asked. */
export async function startWireServer(
  handler: Handler,
): Promise<{ url: string; seen: Seen[]; server: Server; [Symbol.asyncDispose](): Promise<void> }> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const text = Buffer.concat(parts).toString();
      const isJson = request.headers["content-type"] === "application/json";
      const one: Seen = {
        method: request.method ?? "",
        path: request.url ?? "",
        headers: request.headers,
        body: isJson ? JSON.parse(text) : text,
      };
      seen.push(one);
      void handler(one, response, request);
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    server,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

export function answer(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

export const errorBody = (code: string, message = code, details: object | null = null): object => ({
  error: { code, message, details, request_id: "req-1" },
});

/** As much of a run as the client looks at. */
export const run = (id: string, fields: Record<string, unknown> = {}): Record<string, unknown> => ({
  id,
  status: "queued",
  failure: null,
  ...fields,
});
