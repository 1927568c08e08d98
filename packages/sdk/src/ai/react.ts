/** Chats with the AI SDK, the hook for React. */
import { Chat, useChat, type UseChatHelpers } from "@ai-sdk/react";
import type { ChatInit, UIMessage } from "ai";
import { useCallback, useEffect, useState } from "react";
import type { KeelsonChatTransport } from "./chat-transport.ts";
import { followOthers } from "./follow-others.ts";

/** Options of `useKeelsonChat()`: those of `useChat`, with the transport. What they are at the first rendering counts. */
export type KeelsonChatHookOptions<M extends UIMessage> = Omit<ChatInit<M>, "transport"> & {
  /** One for each conversation, made outside of the component. */
  transport: KeelsonChatTransport<M>;
  /** Rendered at most once in so many milliseconds. Default: as often as something comes. */
  throttle?: number;
};

/** What `useChat` returns, and: */
export type KeelsonChat<M extends UIMessage> = UseChatHelpers<M> & {
  /** As `approve()` of the transport. */
  approve: KeelsonChatTransport<M>["approve"];
  /** As `steer()` of the transport. */
  steer: KeelsonChatTransport<M>["steer"];
  /** As `attach()` of the transport. */
  attach: KeelsonChatTransport<M>["attach"];
  /** As `openFile()` of the transport. */
  openFile: KeelsonChatTransport<M>["openFile"];
};

/**
 * `useChat` of the AI SDK for a `chatActor()`. It also shows what other tabs and devices say, goes on with an answer after a reload, keeps what is
 * sent meanwhile until an answer is whole (`experimental_queue`), and its `stop()` interrupts the answer that is shown, whoever has asked for it.
 */
export function useKeelsonChat<M extends UIMessage = UIMessage>({
  throttle,
  ...init
}: KeelsonChatHookOptions<M>): KeelsonChat<M> {
  const [{ chat, transport, onError }] = useState(() => ({
    // What is sent while an answer comes would mix the two.
    chat: new Chat<M>({ experimental_queue: true, ...init }),
    ...init,
  }));
  useEffect(() => {
    const left = new AbortController();
    const following = followOthers(chat, transport, left.signal);
    void (onError === undefined ? following : following.catch(onError));
    return () => left.abort();
  }, [chat, transport, onError]);
  const helpers = useChat<M>({ chat, resume: true, ...(throttle !== undefined && { throttle }) });
  const stop = useCallback(async (): Promise<void> => {
    const { status, lastMessage } = chat;
    const answer = status === "streaming" && lastMessage?.role === "assistant" ? lastMessage.id : null;
    await chat.stop();
    if (answer !== null) await transport.interrupt(answer);
  }, [chat, transport]);
  const approve = useCallback<KeelsonChat<M>["approve"]>(
    (...asked) => transport.approve(...asked),
    [transport],
  );
  const steer = useCallback<KeelsonChat<M>["steer"]>((message) => transport.steer(message), [transport]);
  const attach = useCallback<KeelsonChat<M>["attach"]>((...given) => transport.attach(...given), [transport]);
  const openFile = useCallback<KeelsonChat<M>["openFile"]>((part) => transport.openFile(part), [transport]);
  return { ...helpers, stop, approve, steer, attach, openFile };
}
