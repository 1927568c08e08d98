import type { Client } from "@keelson/sdk";
import { ACTOR_ID } from "../chat-records.ts";

export type Conversations = {
  /** The id of the visitor's open conversation, which is made when there is none. */
  open(visitor: string): Promise<string>;
  /** A public access token: to send messages, to read the answers, and to stop them. */
  createToken(id: string): Promise<string>;
  end(id: string): Promise<void>;
  belongsTo(id: string, visitor: string): Promise<boolean>;
};

/** The conversations of visitors: the external id of a session says whose it is. */
export function createConversations(client: Client): Conversations {
  const externalId = (visitor: string): string => `chat-${visitor}`;
  return {
    async open(visitor) {
      // With the external id of an open session it is that session.
      return (await client.sessions.create({ actor: ACTOR_ID, externalId: externalId(visitor) })).id;
    },
    async createToken(id) {
      return (await client.publicAccessTokens.create({ type: "session.chat", session: id }))
        .publicAccessToken;
    },
    async end(id) {
      await client.sessions.cancel(id);
    },
    async belongsTo(id, visitor) {
      return (await client.sessions.get(id)).externalId === externalId(visitor);
    },
  };
}
