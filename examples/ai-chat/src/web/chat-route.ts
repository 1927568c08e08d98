import { openChat, type ChatConnection } from "@keelson/sdk/ai/server";
import type { Client } from "@keelson/sdk/client";
import type { ActorName } from "../actors.ts";

/** What the page asks for: the conversation of a visitor with an actor, and a token for that alone. `url` is Keelson's. */
export const connectVisitor = (
  client: Client,
  url: string,
  actor: ActorName,
  visitor: string,
): Promise<ChatConnection> => openChat(client, { url, actor, externalId: `${actor}-${visitor}` });

/** Ends it: the next `connectVisitor()` opens another one, and for the coding agent another workspace. */
export async function endConversation(...visit: Parameters<typeof connectVisitor>): Promise<void> {
  const { sessionId } = await connectVisitor(...visit);
  await visit[0].sessions.cancel(sessionId);
}
