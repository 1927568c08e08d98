import { Agent, request, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";

/** Calls over one connection that stays open: a client that is part of what is measured and costs little of it. */
export type ApiSocket = {
  send<T>(method: string, path: string, body?: unknown): Promise<T>;
  /** Follows an output to its end; gives when its first chunk was written, as soon as that is here. */
  firstChunk(path: string): Promise<number>;
  close(): void;
};

export function openApiSocket({ port, apiKey }: { port: number; apiKey: string }): ApiSocket {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const open = (method: string, path: string, headers: Record<string, string>, body: string | null) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const options = { agent, host: "127.0.0.1", port, method, path };
      const call = request(
        { ...options, headers: { authorization: `Bearer ${apiKey}`, ...headers } },
        resolve,
      );
      call.on("error", reject);
      call.end(body ?? undefined);
    });
  const requireSuccess = async (response: IncomingMessage, what: string): Promise<void> => {
    if ((response.statusCode ?? 0) < 300) return;
    throw new Error(`${what} was answered ${response.statusCode}: ${(await text(response)).slice(0, 500)}`);
  };
  return {
    async send<T>(method: string, path: string, body?: unknown) {
      const isSent = body !== undefined;
      const headers = isSent ? { "content-type": "application/json" } : {};
      const response = await open(method, path, headers, isSent ? JSON.stringify(body) : null);
      await requireSuccess(response, `${method} ${path}`);
      return JSON.parse(await text(response)) as T;
    },
    async firstChunk(path) {
      const response = await open("GET", path, { accept: "text/event-stream" }, null);
      await requireSuccess(response, `GET ${path}`);
      return new Promise((resolve, reject) => {
        let seen = "";
        response.setEncoding("utf8");
        response.on("data", (piece: string) => {
          seen += piece;
          const at = /event: ?chunk\n(?:.*\n)*?data: ?(.*)\n\n/.exec(seen)?.[1];
          if (at !== undefined) resolve(Date.parse((JSON.parse(at) as { at: string }).at));
        });
        response.once("end", () => reject(new Error(`${path} ended without a chunk: ${seen.slice(0, 500)}`)));
        response.once("error", reject);
      });
    },
    close: () => agent.destroy(),
  };
}
