import { MESSAGE_CONTENT_TYPE, type MessageNews } from "@keelson/contract/plain";
import type { RecordOf } from "../client/record-appends.ts";

type Read = RecordOf<unknown>;

/** Reads the stream from a cursor until the session is over or the signal is aborted. */
export type OpenStream = (cursor: number, signal: AbortSignal) => AsyncIterable<Read>;

type Listener = { queue: Read[]; wake: () => void };

/**
 * The stream of a chat by one connection, however many exchanges of it a page follows: browsers have six to a server. It is there while
 * somebody listens.
 */
export class ChatFeed {
  readonly #open: OpenStream;
  readonly #listeners = new Set<Listener>();
  /** Of exchanges whose answer has not ended: who begins to listen gets them first. */
  #kept: Read[] = [];
  #cursor: number;
  #connection: AbortController | null = null;
  /** Why nothing more comes. */
  #over: { error: unknown } | "session" | null = null;

  /** @param cursor the sequence of a record before all that anybody will listen to */
  constructor(open: OpenStream, cursor: number) {
    this.#open = open;
    this.#cursor = cursor;
  }

  /**
   * Listens from now on: the records that come, until the signal is aborted or the session is over. `fromKept`: first those of exchanges
   * that go on. They reject with what ended the connection for good.
   */
  listen(signal: AbortSignal, { fromKept }: { fromKept: boolean }): AsyncGenerator<Read> {
    const listener: Listener = { queue: fromKept ? [...this.#kept] : [], wake: () => undefined };
    const leave = (): void => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#disconnect();
      listener.wake();
    };
    signal.addEventListener("abort", leave, { once: true });
    this.#listeners.add(listener);
    if (this.#connection === null) this.#connect();
    return this.#recordsOf(listener, signal, leave);
  }

  async *#recordsOf(listener: Listener, signal: AbortSignal, leave: () => void): AsyncGenerator<Read> {
    try {
      while (!signal.aborted) {
        const next = listener.queue.shift();
        if (next !== undefined) yield next;
        else if (this.#over === "session") return;
        else if (this.#over !== null) throw this.#over.error;
        else await new Promise<void>((resolve) => void (listener.wake = resolve));
      }
    } finally {
      signal.removeEventListener("abort", leave);
      leave();
    }
  }

  #connect(): void {
    const connection = new AbortController();
    this.#connection = connection;
    this.#over = null;
    const isCurrent = (): boolean => this.#connection === connection;
    const read = async (): Promise<void> => {
      try {
        for await (const record of this.#open(this.#cursor, connection.signal))
          if (isCurrent()) this.#take(record);
        if (isCurrent()) this.#over = "session";
      } catch (error) {
        if (isCurrent()) this.#over = { error };
      }
      if (!isCurrent()) return;
      // Who listens then asks again.
      this.#connection = null;
      for (const { wake } of this.#listeners) wake();
    };
    void read();
  }

  #take(record: Read): void {
    this.#cursor = record.sequence;
    if (endsAnswer(record))
      this.#kept = this.#kept.filter(({ correlationId }) => correlationId !== record.correlationId);
    else if (record.messageId !== null) this.#kept.push(record);
    for (const listener of this.#listeners) {
      listener.queue.push(record);
      listener.wake();
    }
  }

  /** What goes on is read again by the next connection. */
  #disconnect(): void {
    this.#connection?.abort();
    this.#connection = null;
    const [first] = this.#kept;
    if (first !== undefined) this.#cursor = first.sequence - 1;
    this.#kept = [];
  }
}

/** The end of an answer: that of a message of the person, which is written at once, is one too, and has nothing before it worth keeping. */
const endsAnswer = ({ contentType, data }: Read): boolean =>
  contentType === MESSAGE_CONTENT_TYPE && (data as MessageNews).event === "ended";
