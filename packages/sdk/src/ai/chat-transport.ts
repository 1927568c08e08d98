import type { WhileBusy } from "@keelson/contract";
import { generateId, type ChatTransport, type FileUIPart, type UIMessage, type UIMessageChunk } from "ai";
import { completeToken, createSessionClient, messageEndOf, type SessionClient } from "../browser.ts";
import { AuthenticationError, ConflictError } from "../client/errors.ts";
import type { RecordOf } from "../client/record-appends.ts";
import { toPageConfig } from "../client/page-connection.ts";
import {
  createSessionFilesApi,
  type FileUploadOptions,
  type SessionFilesApi,
  type UploadContent,
} from "../client/session-files.ts";
import { createTransport } from "../client/transport.ts";
import type { Message } from "../client/resources.ts";
import { UsageError } from "../keelson-error.ts";
import { answerChunks, beginsAnswer } from "./answer-chunks.ts";
import { ChatFeed, type OpenStream } from "./chat-feed.ts";
import { fileIdOf, toBlob, urlOfFile } from "./chat-files.ts";
import { toConversation } from "./chat-history.ts";
import type { ApprovalDescriptor } from "./run-tool-call.ts";
import type { ChatConnection } from "./server.ts";
import { sharedStream } from "./shared-stream.ts";

/** How a page reaches its conversation. */
export type KeelsonChatOptions = {
  /**
   * Asks your backend, which answers what `openChat()` of `@keelson/sdk/ai/server` gives. It is called at the beginning, and again
   * when the token has expired.
   */
  connect: () => Promise<ChatConnection>;
  /**
   * What a message does that comes while an answer is written: it waits (`"enqueue"`), stops that (`"interrupt"`), or is answered as soon as
   * that can end (`"steer"`). Default: what `chatActor()` declares, else `"enqueue"`.
   */
  whileBusy?: Exclude<WhileBusy, "reject">;
  /** Told when an answer could not be stopped. Default: the rejection is left unhandled. */
  onError?: (error: unknown) => void;
  /** Used instead of the browser's own. */
  fetch?: typeof globalThis.fetch;
};

type Approval = { id: string; descriptor?: unknown };

type Connected = {
  url: string;
  sessionId: string;
  session: SessionClient;
  files: SessionFilesApi;
  /** By one connection for all tabs. */
  read: OpenStream;
};

/** How an answer is followed. */
type Following = {
  /** The page stops. */
  signal: AbortSignal | undefined;
  /** The page has asked for the answer, which is interrupted when the page stops. */
  isOwn: boolean;
};

/**
 * The transport of `useChat` for a `chatActor()`. An answer goes on when the page is closed; with `resume: true`, `useChat` shows the rest of it.
 * `stop()` of `useChat` interrupts an answer to a message that this page has sent; `interrupt()` any answer.
 */
export class KeelsonChatTransport<M extends UIMessage = UIMessage> implements ChatTransport<M> {
  /** An answer that is resumed comes from its beginning. */
  readonly resumeStreamIsReplay = true;
  readonly #options: KeelsonChatOptions;
  #connection: ChatConnection | null = null;
  #asking: Promise<ChatConnection> | null = null;
  #connected: Promise<Connected> | null = null;
  #feed: ChatFeed | null = null;
  /** Exchanges that this page has begun. */
  readonly #own = new Set<string | null>();
  /** Answers that this page follows no longer, although they had not ended. */
  readonly #left = new Set<string>();

  constructor(options: KeelsonChatOptions) {
    this.#options = options;
  }

  /** What was said so far, oldest first, for `messages` of `useChat`. `limit`: the newest of so many. Default 200. */
  async load({ limit = 200 }: { limit?: number } = {}): Promise<M[]> {
    const { session, read } = await this.#connect();
    const rows: Message[] = [];
    for await (const row of session.messages({ limit: Math.min(limit, 200) })) {
      if (rows.push(row) >= limit) break;
    }
    this.#feed ??= feedOf(read, rows);
    return toConversation<M>(rows);
  }

  /** Called by `useChat`: sends the last message, which is a person's, and follows the answer to it. */
  async sendMessages({
    messages,
    abortSignal: signal,
  }: Parameters<ChatTransport<M>["sendMessages"]>[0]): Promise<ReadableStream<UIMessageChunk>> {
    const message = messages.at(-1);
    if (message?.role !== "user")
      throw new UsageError(
        "The last message is an answer, which goes on without being asked. Use approve() for approvals.",
      );
    const connected = await this.#connect();
    const correlationId = generateId();
    this.#own.add(correlationId);
    const { whileBusy } = this.#options;
    const sent = { correlationId, ...(whileBusy !== undefined && { whileBusy }) };
    return this.#follow(connected, { signal, isOwn: true }, async () => {
      await connected.session.send("input", { message }, sent);
      return correlationId;
    });
  }

  /** Called by `useChat` with `resume: true`: the answer that is being written, or null. */
  async reconnectToStream({
    abortSignal: signal,
  }: Parameters<ChatTransport<M>["reconnectToStream"]>[0]): Promise<ReadableStream<UIMessageChunk> | null> {
    const connected = await this.#connect();
    return this.#follow(
      connected,
      { signal, isOwn: false },
      async () => (await findOpen(connected.session))?.correlationId ?? null,
    );
  }

  /**
   * The ids of answers of which `useChat` does not say all, from now on and until the signal is aborted: those to what other tabs and devices say, as
   * they begin, and those that this page has stopped, when they have ended.
   */
  async *others(signal: AbortSignal): AsyncGenerator<string> {
    const feed = await this.#findFeed(await this.#connect());
    for await (const record of feed.listen(signal, { fromKept: false })) {
      const id = record.messageId ?? "";
      const isOther = !this.#own.has(record.correlationId) && beginsAnswer(record);
      const isCut = messageEndOf(record) !== null && this.#left.delete(id);
      if (isOther || isCut) yield id;
    }
  }

  /**
   * Says something that does not wait until the answer is whole that is being written: that ends when the tools have given what they were
   * called for, and this is answered, with all of it known. It is shown like what other tabs say: by `followOthers()`, or the hook.
   */
  async steer(message: string | M): Promise<void> {
    const { session } = await this.#connect();
    const said =
      typeof message === "string"
        ? { id: generateId(), role: "user", parts: [{ type: "text", text: message }] }
        : message;
    // The data says it too: an actor that was deployed with an earlier SDK looks there.
    const sent = { correlationId: generateId(), whileBusy: "steer" } as const;
    await session.send("input", { message: said, steer: true }, sent);
  }

  /**
   * Uploads a file of up to 64 MiB to the conversation, and gives the part of a message that names it: send it with the text, as
   * `sendMessage({ text, files: [part] })`. Rejects with a ConflictError `session_closed` when the conversation has ended.
   */
  async attach(content: UploadContent, options: FileUploadOptions = {}): Promise<FileUIPart> {
    const { files, sessionId } = await this.#connect();
    const { id, mediaType, name } = await files.upload({ id: sessionId }, content, options);
    return { type: "file", url: urlOfFile(id), mediaType, ...(name !== null && { filename: name }) };
  }

  /**
   * The content of a file part that `attach()` has made, of any page of the conversation. Show it with `URL.createObjectURL()`. What is no
   * picture, sound or film has the type `application/octet-stream`, so that a browser does not run it in the origin of the page.
   */
  async openFile({ url, mediaType }: Pick<FileUIPart, "url" | "mediaType">): Promise<Blob> {
    const id = fileIdOf(url);
    if (id === null) throw new UsageError("The part names no file of the conversation: use its url as it is");
    const { files, sessionId } = await this.#connect();
    return toBlob(await files.read({ id: sessionId }, id), mediaType);
  }

  /** Stops an answer: that one, or whichever is being written. It may be asked for by anybody. Safe to repeat, and late. */
  async interrupt(messageId?: string): Promise<void> {
    const { session } = await this.#connect();
    const id = messageId ?? (await findOpen(session))?.id;
    if (id !== undefined) await session.interrupt(id);
  }

  /**
   * Approves or denies what a tool part with the state `approval-requested` asks for: give its `approval`. Resolves with whether this decided it:
   * false when somebody was faster, or it is too late.
   */
  async approve(
    { id, descriptor }: Approval,
    { approved, reason }: { approved: boolean; reason?: string },
  ): Promise<boolean> {
    const { url } = await this.#connect();
    const { publicAccessToken } = descriptor as ApprovalDescriptor;
    const { fetch } = this.#options;
    const data = { approved, ...(reason !== undefined && { reason }) };
    try {
      const { status } = await completeToken({
        ...{ url, id, publicAccessToken, data },
        ...(fetch !== undefined && { fetch }),
      });
      return status === "completed";
    } catch (error) {
      if (error instanceof ConflictError || error instanceof AuthenticationError) return false;
      throw error;
    }
  }

  #connect(): Promise<Connected> {
    this.#connected ??= this.#open().catch((error: unknown) => {
      this.#connected = null;
      throw error;
    });
    return this.#connected;
  }

  async #open(): Promise<Connected> {
    const { fetch } = this.#options;
    const { url, sessionId } = await this.#ask(false);
    const connection = { url, ...(fetch !== undefined && { fetch }) };
    const tokenOf = async (renew: boolean): Promise<string> => (await this.#ask(renew)).token;
    const session = createSessionClient({
      ...connection,
      session: { id: sessionId },
      token: ({ renew }) => tokenOf(renew),
    });
    const { url: server, ...config } = toPageConfig(connection);
    const get = async (renew: boolean) => ({ url: server, apiKey: await tokenOf(renew) });
    const files = createSessionFilesApi(createTransport(config, { renewable: true, get }), "/api/v1");
    const read: OpenStream = (cursor, signal) =>
      session.output("output", { cursor, messageEnds: true, signal });
    return { url, sessionId, session, files, read: sharedStream(`keelson ${url} ${sessionId}`, read) };
  }

  /** Those that are refused at the same time ask once. */
  #ask(again: boolean): Promise<ChatConnection> {
    if (this.#asking !== null) return this.#asking;
    if (!again && this.#connection !== null) return Promise.resolve(this.#connection);
    this.#asking = this.#options.connect().finally(() => (this.#asking = null));
    return this.#asking.then((connection) => (this.#connection = connection));
  }

  async #report(interrupted: Promise<unknown>): Promise<void> {
    const { onError } = this.#options;
    await (onError === undefined ? interrupted : interrupted.catch(onError));
  }

  async #findFeed({ session, read }: Connected): Promise<ChatFeed> {
    if (this.#feed === null) {
      const { items } = await session.messages({ limit: 1 }).page();
      this.#feed ??= feedOf(read, items);
    }
    return this.#feed;
  }

  /** Listens, finds which exchange to follow, and follows it: an answer may be over before anybody has said that it began. */
  async #follow(
    connected: Connected,
    following: Following,
    find: () => Promise<string>,
  ): Promise<ReadableStream<UIMessageChunk>>;
  async #follow(
    connected: Connected,
    following: Following,
    find: () => Promise<string | null>,
  ): Promise<ReadableStream<UIMessageChunk> | null>;
  async #follow(
    connected: Connected,
    { signal, isOwn }: Following,
    find: () => Promise<string | null>,
  ): Promise<ReadableStream<UIMessageChunk> | null> {
    const left = new AbortController();
    const records = (await this.#findFeed(connected)).listen(left.signal, { fromKept: true });
    const correlationId = await find().catch((error: unknown) => {
      left.abort();
      throw error;
    });
    if (correlationId === null) {
      left.abort();
      return null;
    }
    const stop = (messageId: string): void => {
      left.abort();
      this.#left.add(messageId);
      if (isOwn) void this.#report(connected.session.interrupt(messageId));
    };
    // What was stopped before it began is interrupted when it begins.
    const began = (messageId: string): void => {
      if (signal?.aborted === true) stop(messageId);
      else signal?.addEventListener("abort", () => stop(messageId), { once: true });
    };
    return toStream(answerChunks(ofExchange(records, correlationId), began), () => {
      if (!isOwn || signal?.aborted !== true) left.abort();
    });
  }
}

async function* ofExchange(
  records: AsyncIterable<RecordOf<unknown>>,
  correlationId: string,
): AsyncGenerator<RecordOf<unknown>> {
  for await (const record of records) if (record.correlationId === correlationId) yield record;
}

function toStream(
  chunks: AsyncIterable<UIMessageChunk>,
  cancelled: () => void,
): ReadableStream<UIMessageChunk> {
  let isOpen = true;
  const pump = async (controller: ReadableStreamDefaultController<UIMessageChunk>): Promise<void> => {
    try {
      for await (const chunk of chunks) if (isOpen) controller.enqueue(chunk);
      if (isOpen) controller.close();
    } catch (error) {
      if (isOpen) controller.error(error);
    }
  };
  return new ReadableStream({
    start(controller) {
      void pump(controller);
    },
    cancel() {
      isOpen = false;
      cancelled();
    },
  });
}

/** From before what is being written, or from the end. */
function feedOf(read: OpenStream, rows: readonly Message[]): ChatFeed {
  const open = rows.filter(({ status }) => status === "open").map(({ firstSequence }) => firstSequence - 1);
  const ended = rows.map(({ lastSequence }) => lastSequence ?? 0);
  return new ChatFeed(read, open.length > 0 ? Math.min(...open) : Math.max(0, ...ended));
}

async function findOpen(session: SessionClient): Promise<Message | null> {
  const { items } = await session.messages({ status: "open", limit: 1 }).page();
  return items[0] ?? null;
}
