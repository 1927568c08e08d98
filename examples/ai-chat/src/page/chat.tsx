import { KeelsonChatTransport, type ChatConnection } from "@keelson/sdk/ai/client";
import { useKeelsonChat } from "@keelson/sdk/ai/react";
import type { ChatMessage } from "./chat-message.ts";
import { Composer } from "./composer.tsx";
import { MessageList } from "./message-list.tsx";

export async function openConversation(actor: string) {
  const connect = async () => {
    const response = await fetch(`/chat/${actor}`, { method: "POST" });
    if (!response.ok) throw new Error(await response.text());
    return (await response.json()) as ChatConnection;
  };
  const transport = new KeelsonChatTransport<ChatMessage>({ connect });
  return { transport, messages: await transport.load() };
}

export function Chat({ transport, messages }: Awaited<ReturnType<typeof openConversation>>) {
  const chat = useKeelsonChat<ChatMessage>({ transport, messages });
  return [
    <MessageList key="messages" chat={chat} />,
    <Composer key="composer" chat={chat} onSend={chat.sendMessage} onSteer={chat.steer} onStop={chat.stop} />,
  ];
}
