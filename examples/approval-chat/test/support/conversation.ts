import { randomUUID } from "node:crypto";
import type { Client } from "@keelson/sdk";
import { completeToken } from "@keelson/sdk/browser";
import type { ChatRecord } from "../../src/chat-records.ts";

type Of<Type extends ChatRecord["type"]> = Extract<ChatRecord, { type: Type }>;
type Said = {
  data: ChatRecord;
  correlationId: string | null;
  messageId: string | null;
  sequence: number;
};

/** A conversation, read from the beginning and once. */
export type Conversation = {
  id: string;
  /** Everything read so far. */
  readonly records: readonly Said[];
  /** Sends a message and gives its correlation id. */
  send(text: unknown): Promise<string>;
  /** Reads on until a record of that kind has come, and gives it. */
  until<Type extends ChatRecord["type"]>(type: Type): Promise<Of<Type>>;
  /** Of the message that was read last. */
  messageId(): string;
  decide(approval: Of<"approval">, data: unknown): Promise<void>;
  /** The texts of the answers to a message, each put together from its pieces. */
  answersTo(correlationId: string): string[];
  end(): Promise<void>;
};

export async function openConversation(client: Client, url: string): Promise<Conversation> {
  const { id } = await client.sessions.create({ actor: "approval-chat" });
  const output = client.sessions.records<ChatRecord>(id, { follow: true });
  const records: Said[] = [];
  return {
    id,
    records,
    async send(text) {
      const correlationId = randomUUID();
      await client.sessions.send(id, { text }, { correlationId });
      return correlationId;
    },
    async until(type) {
      for (;;) {
        const next: IteratorResult<Said, unknown> = await output.next();
        if (next.done) throw new Error(`The conversation ended without ${type}`);
        const { value } = next;
        records.push(value);
        if (value.data.type === type) return value.data as Of<typeof type>;
      }
    },
    messageId() {
      const last = records.findLast(({ messageId }) => messageId !== null);
      if (typeof last?.messageId !== "string") throw new Error("No message has been read");
      return last.messageId;
    },
    async decide({ tokenId, publicAccessToken }, data) {
      await completeToken({ url, id: tokenId, publicAccessToken, data });
    },
    answersTo(correlationId) {
      const answers: string[] = [];
      for (const { data, correlationId: of } of records) {
        if (of !== correlationId) continue;
        if (data.type === "answer") answers.push("");
        if (data.type === "piece") answers[answers.length - 1] += data.text;
      }
      return answers;
    },
    async end() {
      await client.sessions.cancel(id);
      await output.return(undefined);
    },
  };
}
