// PostgreSQL's messages, as a proxy reads them on their way. Source: PostgreSQL's manual, "Frontend/Backend Protocol".

import path from "node:path";

/** One statement of a connection, with those of its transaction so far. */
export interface SentStatement {
  readonly text: string;
  readonly earlier: readonly string[];
}

const [QUERY, PARSE, BIND, SYNC, READY] = ["Q", "P", "B", "S", "Z"] as const;
/** These stand alone. */
const [PASSWORD, TERMINATE] = ["p", "X"] as const;

/** Splits a stream of messages, each a type, a length and a content; the first of a client has no type. */
export function createSplitter(hasStartup: boolean): (bytes: Buffer) => Buffer[] {
  let rest: Buffer = Buffer.alloc(0);
  let typeBytes = hasStartup ? 0 : 1;
  return (bytes) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    const messages: Buffer[] = [];
    while (rest.length >= typeBytes + 4) {
      const end = typeBytes + rest.readUInt32BE(typeBytes);
      if (rest.length < end) break;
      messages.push(rest.subarray(0, end));
      rest = rest.subarray(end);
      typeBytes = 1;
    }
    return messages;
  };
}

const typeOf = (message: Buffer): string => String.fromCharCode(message[0] ?? 0);
/** The text that begins at `start` of a message and ends with a zero byte. */
const textAt = (message: Buffer, start: number): string =>
  message.toString("utf8", start, message.indexOf(0, start));

/** PostgreSQL has answered all of a statement. */
export const isReady = (message: Buffer): boolean => typeOf(message) === READY;

/**
 * Puts the messages of a client together to statements; `send` passes on what is no part of one.
 *
 * @param prepared names of prepared statements follow from their text, so what one connection prepares is known for all
 */
export function createStatementReader(
  prepared: Map<string, string>,
  send: (bytes: Buffer) => void,
): (message: Buffer) => { statement: SentStatement; bytes: Buffer } | null {
  let unit: Buffer[] = [];
  let text = "";
  let earlier: string[] = [];
  return (message) => {
    unit.push(message);
    const type = typeOf(message);
    if (type === PARSE) {
      const name = textAt(message, 5);
      text = textAt(message, 5 + Buffer.byteLength(name) + 1);
      prepared.set(name, text);
    } else if (type === BIND) {
      const portal = textAt(message, 5);
      text = prepared.get(textAt(message, 5 + Buffer.byteLength(portal) + 1)) ?? text;
    } else if (type === QUERY) text = textAt(message, 5);
    if (type !== QUERY && type !== SYNC) {
      if (type === PASSWORD || type === TERMINATE) send(Buffer.concat(unit.splice(0)));
      return null;
    }
    const bytes = Buffer.concat(unit);
    unit = [];
    if (text.startsWith("BEGIN")) earlier = [];
    const statement = { text: text.trim(), earlier };
    earlier = [...earlier, statement.text];
    return { statement, bytes };
  };
}

/** Where the built-in PostgreSQL of this URL listens, and the URL of the same database behind another port. */
export function placeOf(databaseUrl: string): { socketPath: string; urlAt(port: number): string } {
  const target = new URL(databaseUrl.replace("@/", "@localhost/"));
  const { searchParams } = target;
  return {
    socketPath: path.join(searchParams.get("host") ?? "", `.s.PGSQL.${searchParams.get("port") ?? "5432"}`),
    urlAt: (port) => `postgresql://${target.username}@127.0.0.1:${port}${target.pathname}`,
  };
}
