import { useMemo, useSyncExternalStore } from "react";
import type { EmittedOf } from "../actor.ts";
import {
  createSessionClient,
  type SessionClient,
  type SessionClientOptions,
  type TokenNeed,
} from "../browser.ts";
import type { ActorLike } from "../client/session-options.ts";
import { sessionStore, type LiveMessages } from "./session-store.ts";
import { useStable } from "./use-stable.ts";

const DEFAULT_KEEP = 500;

/** Which session `useSession()` shows, and what of it. */
export type SessionView = Pick<SessionClientOptions, "url" | "session" | "token" | "fetch"> & {
  /** The output stream. Default `output`. */
  stream?: string;
  /** The sequence of a record: reading starts after it. By default at the beginning. */
  cursor?: string | number;
  /** So many messages are kept, the newest. Default 500. */
  keep?: number;
};

/** What was said in a session, and what a page does to it. `send` and `interrupt` are those of `createSessionClient()`. */
export type LiveSession<A extends ActorLike = ActorLike> = LiveMessages<EmittedOf<A>> &
  Pick<SessionClient<A>, "send" | "interrupt">;

/**
 * A session, live: what its runs write to a stream, and how to send and to interrupt. `useSession<typeof chat>()` has the types of the
 * actor. Its token is one for `session.chat`, or one for each thing that the page does.
 *
 * @example
 * ```ts
 * import { createElement as h } from "react";
 * import { useSession } from "@keelson/sdk/react";
 *
 * export function Talk({ url, id, token }: { url: string; id: string; token: string }) {
 *   const { messages, send } = useSession({ url, session: { id }, token });
 *   const said = messages.map((message) => h("p", { key: message.id }, message.text));
 *   return h("main", null, said, h("button", { onClick: () => void send("input", { text: "Go on" }) }, "Go on"));
 * }
 * ```
 */
export function useSession<A extends ActorLike = ActorLike>(view: SessionView): LiveSession<A> {
  const { url, token, fetch, stream = "output", cursor = null, keep = DEFAULT_KEEP } = view;
  const ask = useStable((need: TokenNeed) => (typeof token === "function" ? token(need) : ""));
  // Objects that are written where they are passed are new ones at each rendering.
  const session = JSON.stringify(view.session);
  const given = typeof token === "function" ? null : JSON.stringify(token);
  const client = useMemo(
    () =>
      createSessionClient<A>({
        url,
        session: JSON.parse(session) as SessionView["session"],
        token: given === null ? ask : (JSON.parse(given) as string),
        ...(fetch !== undefined && { fetch }),
      }),
    [url, session, given, ask, fetch],
  );
  const store = useMemo(
    () => sessionStore<A, EmittedOf<A>>(client, { stream, cursor, keep }),
    [client, stream, cursor, keep],
  );
  const live = useSyncExternalStore(store.subscribe, store.read, store.read);
  const { send, interrupt } = client;
  return { ...live, send, interrupt };
}
