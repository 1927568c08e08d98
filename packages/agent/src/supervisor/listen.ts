import { chmodSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import type { FromSupervisor, ReadResult, ToSupervisor } from "./calls.ts";
import { createFrameReader, encodeFrame } from "./frames.ts";
import type { Supervision } from "./supervision.ts";
import { SOCKET_FILE, withSocketPath } from "./supervisor-folder.ts";

export type ListenOptions = {
  folder: string;
  orphanTimeoutMs: number;
  /** Ends everything and the process itself; does not return. */
  end(): Promise<void>;
};

type Answer = { result: unknown; body?: readonly Buffer[] };

/** Takes the calls of agents on the socket. While none is connected, a clock runs that ends everything. */
export async function listen(supervision: Supervision, options: ListenOptions): Promise<void> {
  const connections = new Set<Socket>();
  let orphaned: NodeJS.Timeout | undefined;
  const watch = (): void => {
    clearTimeout(orphaned);
    if (connections.size === 0) orphaned = setTimeout(() => void options.end(), options.orphanTimeoutMs);
  };
  const server = createServer((socket) => {
    connections.add(socket);
    watch();
    serve(socket, supervision, options);
    socket.once("close", () => {
      connections.delete(socket);
      // Who would have started it is gone.
      void supervision.dropPrepared();
      watch();
    });
  });
  watch();
  // Nobody but this user may connect, from the first instant on.
  process.umask(0o177);
  await withSocketPath(
    options.folder,
    (path) =>
      new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        server.listen(path, resolve);
      }),
  );
  process.umask(0o022);
  chmodSync(join(options.folder, SOCKET_FILE), 0o600);
}

function serve(socket: Socket, supervision: Supervision, options: ListenOptions): void {
  const waiting = new Map<number, AbortController>();
  const send = (head: FromSupervisor, body: readonly Buffer[] = []): void => {
    if (socket.writable) socket.write(encodeFrame(head, body));
  };
  const receive = (head: ToSupervisor, body: Buffer): void => {
    if (head.call === "cancel") return waiting.get(head.n)?.abort();
    const { n } = head;
    const abort = new AbortController();
    waiting.set(n, abort);
    answerCall(supervision, head, body, abort.signal)
      .then(({ result, body: bytes = [] }) => send({ n, result }, bytes))
      .catch((error: unknown) => send({ n, error: (error as Error).message }))
      .finally(() => {
        waiting.delete(n);
        if (head.call === "stop") socket.end(() => void options.end());
      });
  };
  const read = createFrameReader<ToSupervisor>(receive);
  socket.on("data", (bytes: Buffer) => {
    try {
      read(bytes);
    } catch (error) {
      socket.destroy(error as Error);
    }
  });
  socket.on("error", () => undefined);
  socket.once("close", () => waiting.forEach((abort) => abort.abort()));
}

async function answerCall(
  supervision: Supervision,
  call: Exclude<ToSupervisor, { call: "cancel" }>,
  body: Buffer,
  signal: AbortSignal,
): Promise<Answer> {
  switch (call.call) {
    case "prepare":
      return { result: supervision.prepare(call.spec) };
    case "drop":
      return { result: await supervision.dropPrepared(call.id) };
    case "start":
      return { result: await supervision.start(call.spec) };
    case "list":
      return { result: supervision.list() };
    case "read": {
      const { chunks, exit } = await supervision.read(call.id, call.after, signal);
      const heads = chunks.map(({ stream, offset, data, at }) => ({
        stream,
        offset,
        at,
        bytes: data.length,
      }));
      const result: ReadResult = { chunks: heads, exit };
      return { result, body: chunks.map(({ data }) => data) };
    }
    case "input":
      return { result: await supervision.write(call.id, call.offset, body, call.closed) };
    case "control":
      return { result: await supervision.control(call.id, call.control) };
    case "end":
      return { result: await supervision.end(call.id) };
    case "forget":
      return { result: supervision.forget(call.id) };
    case "stop":
      return { result: await supervision.stop() };
  }
}
