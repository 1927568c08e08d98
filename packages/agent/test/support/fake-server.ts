import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { FakeProtocol } from "./fake-protocol.ts";

const BASE = "/worker/v1/";

type Fault = { route: string; status: number; apply: boolean };

/** The protocol over real HTTP, with failures on demand. */
export class FakeServer extends FakeProtocol {
  readonly calls: { path: string }[] = [];
  readonly #faults: Fault[] = [];
  readonly #server: Server = createServer((req, res) => {
    this.#handle(req, res).catch((error: Error) => res.writeHead(500).end(error.stack));
  });
  #held: Promise<void> | null = null;

  async listen(): Promise<this> {
    this.#server.keepAliveTimeout = 60_000;
    await new Promise<void>((resolve) => {
      this.#server.listen(0, "127.0.0.1", resolve);
    });
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The next call of that route fails: with `status`, or 0 for a cut connection; `apply` lets it take effect first. */
  fail(route: string, status: number, apply = false): void {
    this.#faults.push({ route, status, apply });
  }

  /** Answers nothing until the returned function is called. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held = promise;
    return () => {
      this.#held = null;
      resolve();
    };
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  async #handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of req) parts.push(part as Buffer);
    const path = req.url ?? "";
    this.calls.push({ path });
    if (this.#held !== null) await this.#held;
    if (path === "/api/worker/auth/token") return send(res, 200, this.mint());
    if (!this.tokens.has((req.headers.authorization ?? "").replace("Bearer ", "")))
      return refuse(res, 401, "unauthenticated");
    const route = path.slice(BASE.length);
    const fault = this.#takeFault(route);
    if (fault !== null && !fault.apply)
      return fault.status === 0 ? void req.socket.destroy() : refuse(res, fault.status, "internal");
    if (route.startsWith("bundles/")) return this.#sendBundle(res, route.slice("bundles/".length));
    const reply = await this.answer(route, Buffer.concat(parts).toString(), req.socket);
    if (fault !== null) return void req.socket.destroy();
    send(res, 200, reply);
  }

  #takeFault(route: string): Fault | null {
    const at = this.#faults.findIndex((fault) => fault.route === route);
    return at < 0 ? null : (this.#faults.splice(at, 1)[0] ?? null);
  }

  #sendBundle(res: ServerResponse, digest: string): void {
    const bundle = this.bundles.get(digest);
    if (bundle === undefined) return refuse(res, 404, "not_found");
    res.writeHead(200, { "content-type": "application/octet-stream" }).end(bundle);
  }
}

export const startFakeServer = (): Promise<FakeServer> => new FakeServer().listen();

function send(res: ServerResponse, status: number, value: unknown): void {
  res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}

const refuse = (res: ServerResponse, status: number, code: string): void =>
  send(res, status, { error: { code, message: code, details: null, request_id: "test" } });
