import { Socket } from "node:net";
import {
  createFrameReader,
  encodeFrame,
  FROM_AGENT_FD,
  TO_AGENT_FD,
  type FromHost,
  type ToHost,
} from "./frames.ts";
import { writeSync } from "./node-fs.ts";

/** Messages that leave without waiting for the end of the turn, so that a flooding run is paced by the pipe. */
const FLUSH_BYTES = 64 * 1024;

export type AgentPipe = {
  /** It leaves with all else that is sent in this turn. */
  send(message: FromHost): void;
  /** It leaves now, behind all that was sent before. Blocks while the agent does not read: that is how output is paced. */
  sendNow(message: FromHost): void;
};

/**
 * The host's end of the pipes. Writing is synchronous on a descriptor of its own: what was sent before a crash or
 * `process.exit()` has left, and a slow agent holds the process up instead of filling its memory.
 */
export function openAgentPipe(receive: (message: ToHost) => void, onClosed: () => void): AgentPipe {
  let queue: string[] = [];
  let queuedBytes = 0;
  let scheduled = false;

  const flush = () => {
    scheduled = false;
    if (queue.length === 0) return;
    const frame = encodeFrame(queue);
    queue = [];
    queuedBytes = 0;
    try {
      for (let offset = 0; offset < frame.length;) offset += writeSync(TO_AGENT_FD, frame, offset);
    } catch {
      // The other end is gone, and with it everyone who could be told.
      onClosed();
    }
  };

  const socket = new Socket({ fd: FROM_AGENT_FD, readable: true, writable: false });
  const read = createFrameReader<ToHost>((messages) => messages.forEach(receive));
  socket.on("data", read);
  socket.on("end", onClosed);
  socket.on("error", onClosed);

  const push = (message: FromHost): void => {
    const text = JSON.stringify(message);
    queue.push(text);
    queuedBytes += text.length;
  };

  return {
    send(message) {
      push(message);
      if (queuedBytes >= FLUSH_BYTES) return flush();
      if (scheduled) return;
      scheduled = true;
      setImmediate(flush);
    },
    sendNow(message) {
      push(message);
      flush();
    },
  };
}
