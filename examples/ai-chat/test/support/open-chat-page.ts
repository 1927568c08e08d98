import { KeelsonChatTransport } from "@keelson/sdk/ai/client";
import { getToolName, isToolUIPart, type UIMessage } from "ai";
import { ChatPage } from "../../../../packages/sdk/test/support/chat-page.ts";
import { until } from "../../../../packages/server/test/support/until.ts";
import type { ActorName } from "../../src/actors.ts";
import { connectVisitor } from "../../src/web/chat-route.ts";
import type { Example } from "./shared-example.ts";

type ToolPart = Extract<UIMessage["parts"][number], { toolCallId: string }>;

/** The page of a visitor, without a browser. */
export async function openChatPage({ client, url }: Example, actor: ActorName, visitor: string) {
  const connect = () => connectVisitor(client, url, actor, visitor);
  const transport = new KeelsonChatTransport({ connect });
  const page = new ChatPage(transport, await transport.load());
  return { page, transport, sessionId: (await connect()).sessionId };
}

/** What one reads of a message: its texts, and its tools with what became of them. */
export const readMessage = ({ parts }: UIMessage): string =>
  parts
    .flatMap((part) => {
      if (part.type === "text") return [part.text];
      return isToolUIPart(part) ? [`[${getToolName(part)} ${part.state}]`] : [];
    })
    .join(" ");

export const read = ({ messages }: ChatPage): string[] => messages.map(readMessage);

export const lastOf = (page: ChatPage): string => read(page).at(-1) ?? "";

/** The call that waits for a person, once there is one. */
export async function untilAsked(page: ChatPage): Promise<ToolPart> {
  const find = (): ToolPart | undefined =>
    page.messages
      .at(-1)
      ?.parts.filter(isToolUIPart)
      .find(({ state }) => state === "approval-requested");
  await until("the assistant asks", 60_000, async () => find() !== undefined);
  return find() as ToolPart;
}
