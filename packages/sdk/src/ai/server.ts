/** Chats with the AI SDK, the part of your backend, which has an API key and knows who asks. */
import type { Client } from "../client/client.ts";
import type { RequestOptions } from "../client/exchange.ts";
import type { DurationInput } from "../duration-input.ts";
import { openSession } from "../server.ts";

/** Which conversation. */
export type ChatTarget = {
  /** Where pages reach the Keelson server, e.g. `https://keelson.example.com`. */
  url: string;
  /** The id of the `chatActor()`. */
  actor: string;
  /** Your own id of the conversation. The same one opens the same conversation, as long as that is open. */
  externalId: string;
  /** How long the page's token works; the page asks for another one then. Default: that of public access tokens. */
  expiresIn?: DurationInput;
};

/** What a page needs to chat: the answer of your route that `KeelsonChatTransport` asks. */
export type ChatConnection = {
  /** Of the Keelson server. */
  url: string;
  /** The conversation. */
  sessionId: string;
  /** Sends, reads, interrupts and uploads in this one session. */
  token: string;
};

/**
 * Opens a conversation, or finds the one that is open, and makes a token for a page. Check who asks before that: whoever has the token
 * reads and writes the conversation.
 */
export async function openChat(
  client: Client,
  { url, actor, externalId, expiresIn }: ChatTarget,
  options: RequestOptions = {},
): Promise<ChatConnection> {
  const target = { url, actor, externalId, ...(expiresIn !== undefined && { expiresIn }) };
  const { session, token } = await openSession(client, target, options);
  return { url, sessionId: session.id, token };
}
