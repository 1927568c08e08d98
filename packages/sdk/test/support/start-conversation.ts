import { chatActor, type ChatActorOptions } from "@keelson/sdk/ai";
import { openChat, type ChatConnection } from "@keelson/sdk/ai/server";
import { Client } from "@keelson/sdk/client";
import { outputOf, runOf } from "./declare.ts";
import { testWorker } from "./test-worker.ts";

let chats = 0;

/** A conversation on the real server, whose first turn is executed here. */
export async function startConversation(options: Omit<ChatActorOptions, "id">) {
  const { id: actor } = chatActor({ idleTimeout: "1d", ...options, id: `page-${(chats += 1)}` });
  const externalId = `conversation-${chats}`;
  const { run, start } = runOf({ kind: "actor", id: actor }, { session: { external_id: externalId } });
  await run.started();
  const { url, credentials } = (await testWorker()).server;
  const client = new Client({ url, apiKey: credentials.api_key });
  /** Tokens that pages have been given. */
  const connections: string[] = [];
  const { ended } = start();
  return {
    connections,
    /** What the route of a backend does. */
    async connect(): Promise<ChatConnection> {
      const connection = await openChat(client, { url, actor, externalId });
      connections.push(connection.token);
      return connection;
    },
    /** Ends the conversation, and gives what its turn has returned. */
    async end(): Promise<unknown> {
      await client.sessions.close((await run.started()).session.id);
      return outputOf(await ended);
    },
  };
}
