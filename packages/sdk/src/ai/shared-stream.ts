import { generateId } from "ai";
import type { RecordOf } from "../client/record-appends.ts";
import type { OpenStream } from "./chat-feed.ts";

type Read = RecordOf<unknown>;

/** What the tabs of a browser say to each other of one stream. */
type Said =
  /** A tab asks for what comes after that record. */
  | { want: number; from: string }
  /** Another tab reads the stream from now on. */
  | { leads: true }
  /** For one tab: all after what it has asked for; or for all, as it comes. */
  | { records: Read[]; to: string | null }
  /** The session is over. */
  | { over: true };

/** Records that the reading tab keeps for others. */
const MAX_KEPT = 5_000;

/**
 * One connection for all tabs of a browser, which allows six to a server over HTTP/1.1: one tab reads the stream and tells the
 * others, and when it is closed, another one goes on. Where tabs cannot talk to each other, each has a connection.
 *
 * @param name tells the stream from all others of the origin
 */
export function sharedStream(name: string, open: OpenStream): OpenStream {
  const locks = (globalThis.navigator as { locks?: LockManager } | undefined)?.locks;
  if (locks === undefined || typeof BroadcastChannel === "undefined") return open;
  return (cursor, signal) => new SharedReader({ name, open, locks, cursor, signal }).records();
}

type Channel = InstanceType<typeof BroadcastChannel>;

/** As much of the Web Locks API as is used: types of the web's platform are not everywhere. */
type LockManager = {
  request(name: string, options: { signal: AbortSignal }, held: () => Promise<void>): Promise<unknown>;
};

type Means = {
  name: string;
  open: OpenStream;
  locks: LockManager;
  cursor: number;
  signal: AbortSignal;
};

class SharedReader {
  readonly #means: Means;
  readonly #id = generateId();
  readonly #channel: Channel;
  readonly #queue: Read[] = [];
  #last: number;
  /** Why nothing more comes. */
  #over: { error: unknown } | "session" | null = null;
  #wake: () => void = () => undefined;
  /** Of the tab that reads: what it has read since `start`, and how it begins again from before that. */
  #reading: { start: number; kept: Read[]; again: AbortController } | null = null;

  constructor(means: Means) {
    this.#means = means;
    this.#last = means.cursor;
    this.#channel = new BroadcastChannel(means.name);
    this.#channel.addEventListener("message", (event: unknown) => this.#hear((event as { data: Said }).data));
  }

  async *records(): AsyncGenerator<Read> {
    const { signal, locks, name } = this.#means;
    const ended = new AbortController();
    const stop = AbortSignal.any([signal, ended.signal]);
    stop.addEventListener("abort", () => this.#wake(), { once: true });
    const leading = locks.request(name, { signal: stop }, () => this.#lead(stop));
    leading.catch((error: unknown) => {
      if (!stop.aborted) this.#end({ error });
    });
    this.#say({ want: this.#last, from: this.#id });
    try {
      while (!signal.aborted) {
        const next = this.#queue.shift();
        if (next !== undefined) yield next;
        else if (this.#over === null) await new Promise<void>((resolve) => void (this.#wake = resolve));
        else if (this.#over === "session") return;
        else throw this.#over.error;
      }
    } finally {
      ended.abort();
      this.#channel.close();
    }
  }

  #say(said: Said): void {
    // A channel has only tabs of one origin.
    // oxlint-disable-next-line unicorn/require-post-message-target-origin
    this.#channel.postMessage(said);
  }

  #hear(said: Said): void {
    if ("leads" in said) this.#say({ want: this.#last, from: this.#id });
    else if ("over" in said) this.#end("session");
    else if ("want" in said) this.#serve(said.want, said.from);
    else if (said.to === null) this.#follow(said.records);
    else if (said.to === this.#id) this.#take(said.records);
  }

  /** Sequences have no gaps: what is missing was said before this tab heard of it. */
  #follow(records: Read[]): void {
    const [first] = records;
    if (first === undefined) return;
    if (first.sequence > this.#last + 1) this.#say({ want: this.#last, from: this.#id });
    else this.#take(records);
  }

  #take(records: Read[]): void {
    for (const record of records) {
      if (record.sequence <= this.#last) continue;
      this.#last = record.sequence;
      this.#queue.push(record);
    }
    this.#wake();
  }

  #end(over: { error: unknown } | "session"): void {
    this.#over ??= over;
    this.#wake();
  }

  #serve(want: number, to: string): void {
    if (this.#reading === null) return;
    const { start, kept, again } = this.#reading;
    if (want >= start) return this.#say({ records: kept.filter(({ sequence }) => sequence > want), to });
    // All comes again from there: nothing of before may be taken for it.
    this.#reading = { start: want, kept: [], again };
    again.abort();
  }

  /** Reads for all, as long as this tab is there. */
  async #lead(signal: AbortSignal): Promise<void> {
    this.#reading = { start: this.#last, kept: [], again: new AbortController() };
    this.#say({ leads: true });
    try {
      while (!signal.aborted && this.#over === null) await this.#read(signal);
    } finally {
      this.#reading = null;
    }
  }

  async #read(signal: AbortSignal): Promise<void> {
    const again = new AbortController();
    const start = this.#reading?.start ?? this.#last;
    const reading = { start, kept: [] as Read[], again };
    this.#reading = reading;
    try {
      for await (const record of this.#means.open(start, AbortSignal.any([signal, again.signal]))) {
        if (again.signal.aborted) return;
        reading.kept.push(record);
        if (reading.kept.length > MAX_KEPT) reading.start = reading.kept.shift()?.sequence ?? start;
        this.#take([record]);
        this.#say({ records: [record], to: null });
      }
      if (signal.aborted || again.signal.aborted) return;
      this.#say({ over: true });
      this.#end("session");
    } catch (error) {
      // This tab may not read any more, or not now. Another one may, and goes on.
      if (!signal.aborted && !again.signal.aborted) this.#end({ error });
    }
  }
}
