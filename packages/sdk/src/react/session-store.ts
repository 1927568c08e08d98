import { joinMessages, type SessionClient, type StreamMessage } from "../browser.ts";
import type { ActorLike } from "../client/session-options.ts";
import { BEGUN, liveStore, type LiveStatus, type LiveStore } from "./live-store.ts";

/** A stream of a session as a component shows it. */
export type LiveMessages<Data = unknown> = {
  /**
   * What was written to the stream, oldest first: what a `pipe()` writes is one message that grows, and each other record is a message
   * with one piece.
   */
  messages: readonly StreamMessage<Data>[];
  /** `ended`: the session has ended. `failed`: `error` says why nothing more comes. */
  status: LiveStatus;
  /** Null unless `failed`. */
  error: unknown;
};

export type Followed = {
  /** The output stream. */
  stream: string;
  /** Reading starts after this sequence; null: at the beginning. */
  cursor: string | number | null;
  /** So many messages are kept, the newest. */
  keep: number;
};

export const sessionStore = <A extends ActorLike, Data>(
  client: Pick<SessionClient<A>, "output">,
  { stream, cursor, keep }: Followed,
): LiveStore<LiveMessages<Data>> =>
  liveStore<LiveMessages<Data>>({ messages: [], ...BEGUN }, async (set, signal, is) => {
    const records = client.output<Data>(stream, {
      ...{ signal, onConnect: is("live"), onReconnect: is("connecting"), messageEnds: true },
      ...(cursor !== null && { cursor }),
    });
    let messages: readonly StreamMessage<Data>[] = [];
    for await (const message of joinMessages(records)) {
      messages = place(messages, message, keep);
      set({ messages });
    }
  });

/** With the message where it was before, or at the end. The array of its pieces grows: what is shown has one that does not. */
function place<Data>(
  messages: readonly StreamMessage<Data>[],
  grown: StreamMessage<Data>,
  keep: number,
): readonly StreamMessage<Data>[] {
  const message = { ...grown, pieces: [...grown.pieces] };
  const at = messages.findLastIndex(({ id }) => id === message.id);
  return at === -1 ? [...messages, message].slice(-keep) : messages.with(at, message);
}
