import { connect } from "node:net";
import { answerMessages } from "./child.ts";
import { machineNowMs, percentile } from "./statistics.ts";
import type { SseLatencies, SseReaders } from "./sse-readers.ts";

/**
 * The readers' process: plain sockets that look for the marks `"at":<nanoseconds>` in what comes and for nothing else, so
 * that a thousand readers on one core do not measure themselves. A mark that is cut by the end of a chunk is put together.
 */
answerMessages<SseReaders>(async (readers) => {
  const latencies: number[] = [];
  const left = await Promise.all(
    Array.from({ length: readers.readers }, () => openReader(readers, (ms) => latencies.push(ms))),
  );
  void Promise.all(left.map(({ finished }) => finished)).then(() => {
    const result: SseLatencies = {
      p50Ms: percentile(latencies, 0.5),
      p99Ms: percentile(latencies, 0.99),
      events: latencies.length,
    };
    process.send?.(result);
  });
  return "opened";
});

const MARK = /"at":([0-9]+)\}/g;
/** Longer than a mark. */
const TAIL_CHARACTERS = 64;

function openReader(
  { port, path, headers, events }: SseReaders,
  onEvent: (latencyMs: number) => void,
): Promise<{ finished: Promise<void> }> {
  const finished = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<{ finished: Promise<void> }>();
  const socket = connect(port, "127.0.0.1");
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.on("connect", () =>
    socket.write(
      `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: text/event-stream\r\n${lines.join("")}\r\n`,
    ),
  );
  let seen = 0;
  let held = "";
  let isOpen = false;
  socket.on("data", (bytes) => {
    const nowMs = machineNowMs();
    const text = held + bytes.toString("latin1");
    if (!isOpen) {
      if (!text.startsWith("HTTP/1.1 200"))
        return void socket.destroy(new Error(`refused: ${text.slice(0, 200)}`));
      isOpen = true;
      opened.resolve({ finished: finished.promise });
    }
    let end = 0;
    for (const match of text.matchAll(MARK)) {
      end = match.index + match[0].length;
      seen += 1;
      onEvent(nowMs - Number(BigInt(match[1] as string)) / 1e6);
    }
    held = text.slice(Math.max(end, text.length - TAIL_CHARACTERS));
    if (seen >= events) {
      finished.resolve();
      socket.destroy();
    }
  });
  const fail = (error: Error): void => {
    opened.reject(error);
    finished.reject(error);
  };
  socket.on("error", fail);
  socket.on(
    "close",
    () => seen < events && fail(new Error(`the stream closed after ${seen} of ${events} events`)),
  );
  return opened.promise;
}
