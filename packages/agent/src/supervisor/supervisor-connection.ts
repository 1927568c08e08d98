import { connect, type Socket } from "node:net";
import type { Call, FromSupervisor, ToSupervisor } from "./calls.ts";
import { createFrameReader, encodeFrame } from "./frames.ts";
import { withSocketPath } from "./supervisor-folder.ts";

/** The supervisor is gone, or its connection: what it ran has ended or is about to. */
export class SupervisorGoneError extends Error {
  override readonly name = "SupervisorGoneError";
}

export type SupervisorReply = { result: unknown; body: Buffer };

type Waiting = { resolve(reply: SupervisorReply): void; reject(error: Error): void };

/** Calls to one supervisor over its socket. */
export class SupervisorConnection {
  /** Resolves when the connection has ended. */
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  readonly #waiting = new Map<number, Waiting>();
  #last = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
    const read = createFrameReader<FromSupervisor>((head, body) => this.#receive(head, body));
    socket.on("data", (bytes: Buffer) => {
      try {
        read(bytes);
      } catch (error) {
        socket.destroy(error as Error);
      }
    });
    // Told by `close`, which follows.
    socket.on("error", () => undefined);
    this.closed = new Promise((resolve) =>
      socket.once("close", () => {
        for (const { reject } of this.#waiting.values())
          reject(new SupervisorGoneError("The supervisor is gone."));
        this.#waiting.clear();
        resolve();
      }),
    );
  }

  /** @throws SupervisorGoneError, or Error with what the supervisor answered. */
  call(call: Call, body: readonly Buffer[] = [], signal?: AbortSignal): Promise<SupervisorReply> {
    if (!this.#socket.writable) return Promise.reject(new SupervisorGoneError("The supervisor is gone."));
    this.#last += 1;
    const n = this.#last;
    return new Promise((resolve, reject) => {
      const cancel = (): void => this.#send({ call: "cancel", n });
      const done = (): void => signal?.removeEventListener("abort", cancel);
      this.#waiting.set(n, {
        resolve: (reply) => (done(), resolve(reply)),
        reject: (error) => (done(), reject(error)),
      });
      this.#send({ ...call, n }, body);
      if (signal?.aborted === true) cancel();
      else signal?.addEventListener("abort", cancel, { once: true });
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #send(head: ToSupervisor, body: readonly Buffer[] = []): void {
    if (this.#socket.writable) this.#socket.write(encodeFrame(head, body));
  }

  #receive(head: FromSupervisor, body: Buffer): void {
    const waiting = this.#waiting.get(head.n);
    this.#waiting.delete(head.n);
    if ("error" in head) waiting?.reject(new Error(head.error));
    else waiting?.resolve({ result: head.result, body });
  }
}

/** Null when nobody listens there. */
export async function connectSupervisor(folder: string): Promise<SupervisorConnection | null> {
  try {
    const socket = await withSocketPath(
      folder,
      (path) =>
        new Promise<Socket>((resolve, reject) => {
          const candidate = connect(path);
          candidate.once("connect", () => {
            candidate.removeListener("error", reject);
            resolve(candidate);
          });
          candidate.once("error", reject);
        }),
    );
    return new SupervisorConnection(socket);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Reset: it died between the call and its answer.
    if (code === "ENOENT" || code === "ECONNREFUSED" || code === "ECONNRESET") return null;
    throw error;
  }
}
