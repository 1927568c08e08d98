// Requests as bytes, for what a client library would join, refuse or put right.

import { connect, type Socket } from "node:net";
import { once } from "node:events";

export interface RawAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
}

/** Opens a connection and writes the text; nothing more is sent. */
export async function openRaw(url: string, text: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  // A reset is one of the ways in which the server ends a connection.
  socket.on("error", () => undefined);
  socket.write(text);
  return socket;
}

/** What comes until the server closes the connection. */
export async function readToEnd(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (part: Buffer) => (text += part.toString()));
  // Not by `once` of events, which a reset rejects.
  if (!socket.closed) await new Promise((resolve) => void socket.once("close", resolve));
  return text;
}

export function parseAnswer(text: string): RawAnswer {
  const [head = "", ...rest] = text.split("\r\n\r\n");
  const [first = "", ...lines] = head.split("\r\n");
  const headers = lines.map((line) => {
    const [name = "", ...value] = line.split(":");
    return [name.toLowerCase(), value.join(":").trim()] as const;
  });
  return { status: Number(first.split(" ")[1]), headers: new Map(headers), text: rest.join("\r\n\r\n") };
}

/** Sends header lines as they are, on a connection of their own. */
export async function sendLines(url: string, lines: readonly string[], body = ""): Promise<RawAnswer> {
  const socket = await openRaw(url, [...lines, "Connection: close", "", body].join("\r\n"));
  return parseAnswer(await readToEnd(socket));
}
