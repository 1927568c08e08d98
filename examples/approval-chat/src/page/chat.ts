import {
  AuthenticationError,
  completeToken,
  ConflictError,
  createSessionClient,
  messageEndOf,
} from "@keelson/sdk/browser";
import type { SessionConnection } from "@keelson/sdk/server";
import type { ChatInput, ChatRecord } from "../chat-records.ts";
import { createComposer } from "./composer.ts";
import { byId } from "./elements.ts";
import { createMessageList } from "./message-list.ts";

const CONNECTION = { live: "Live", lost: "Reconnecting", ended: "Ended" } as const;

function showConnection(state: keyof typeof CONNECTION): void {
  const connection = byId("connection", HTMLElement);
  if (connection.dataset["state"] === state) return;
  connection.dataset["state"] = state;
  connection.textContent = CONNECTION[state];
}

/** Asks the page's own backend, which knows the visitor by a cookie. */
async function ask(path: string): Promise<string> {
  const response = await fetch(path, { method: "POST" });
  if (!response.ok) throw new Error(await response.text());
  return response.text();
}

const connect = async (): Promise<SessionConnection> =>
  JSON.parse(await ask("/conversation")) as SessionConnection;

/** Ids of messages: also where the page is no secure context. */
const newId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join(
    "",
  );

/** The session, by one token; another one when it is refused, as it is after a while. */
function openSession(first: SessionConnection) {
  let { token } = first;
  return createSessionClient({
    ...first,
    token: async ({ renew }) => {
      if (renew) ({ token } = await connect());
      return token;
    },
  });
}

async function converse(connection: SessionConnection): Promise<void> {
  const { url } = connection;
  const session = openSession(connection);
  const composer = createComposer((text) => void send(text));
  const list = createMessageList({
    leave: composer.focus,
    decide: (approval) => async (approved) => {
      const { tokenId, publicAccessToken } = approval;
      try {
        await completeToken({ url, id: tokenId, publicAccessToken, data: { approved } });
        return "Sent. The run goes on.";
      } catch (error) {
        // Another page was faster, or the time is up: the stream tells which.
        if (error instanceof ConflictError || error instanceof AuthenticationError)
          return "This was decided before.";
        throw error;
      }
    },
  });

  const stop = (messageId: string) => (): void =>
    void session.interrupt(messageId).catch((error: unknown) => {
      composer.showProblem(`Not stopped: ${(error as Error).message}`);
    });

  async function send(text: string): Promise<void> {
    const correlationId = newId();
    list.addSending(correlationId, text);
    try {
      await session.send("input", { text } satisfies ChatInput, { correlationId });
      list.markSent(correlationId);
    } catch (error) {
      list.removeSending(correlationId);
      composer.putBack(text);
      composer.showProblem(`Not sent: ${(error as Error).message}`);
    }
  }

  try {
    // From the beginning at each load: the stream is the conversation.
    const records = session.output<ChatRecord>("output", {
      messageEnds: true,
      onConnect: () => showConnection("live"),
      onReconnect: () => showConnection("lost"),
    });
    for await (const record of records) {
      const { data, correlationId, id: recordId, messageId, createdAt } = record;
      // An answer is one message, from before its first word to the end of what it does.
      if (messageId !== null) composer.offerStop(messageEndOf(record) === null ? stop(messageId) : null);
      if ("type" in data) list.show(data, correlationId ?? recordId, new Date(createdAt));
    }
    composer.showProblem("This conversation has ended. Begin a new one.");
  } finally {
    composer.end();
  }
}

function showFailure(error: unknown): void {
  byId("problem", HTMLElement).textContent = (error as Error).message;
}

try {
  const connection = await connect();
  byId("new", HTMLButtonElement).addEventListener("click", () => {
    ask("/end").then(() => location.reload(), showFailure);
  });
  await converse(connection);
} catch (error) {
  showFailure(error);
}
showConnection("ended");
