import type { FileUIPart, TextUIPart, UIMessage } from "ai";
import type { InputRecord } from "../session-input.ts";

/**
 * A record of the stream `input` of a chat. A message whose id the conversation has already replaces that message and
 * what came after it: so an edit and another try are asked for. A text stands for a message of its own. One that is to `steer` does not
 * wait until the answer is whole that is being written: that ends before the next call of the model. Sending it with `whileBusy: "steer"`
 * does the same, and so does every message of an actor that declares that.
 */
export type ChatInput<M extends UIMessage = UIMessage> = { message: M; steer?: true } | string;

const MAX_ID_CHARACTERS = 128;

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null;

/** What a person may say: texts and files. Other parts are the assistant's, and are never taken from a page. */
function readPart(part: unknown): TextUIPart | FileUIPart | null {
  if (!isObject(part)) return null;
  const { type, text, url, mediaType, filename } = part;
  if (type === "text" && typeof text === "string") return { type, text };
  if (type !== "file" || typeof url !== "string" || typeof mediaType !== "string") return null;
  return { type, url, mediaType, ...(typeof filename === "string" && { filename }) };
}

/** The message of the person. It comes from a browser and may be any JSON: null when it says nothing. */
export function readChatInput({ id, data }: Pick<InputRecord, "id" | "data">): UIMessage | null {
  if (typeof data === "string")
    return data.trim() === "" ? null : toMessage(id, [{ type: "text", text: data }]);
  if (!isObject(data) || !isObject(data["message"])) return null;
  const { message } = data as { message: Json };
  if (message["role"] !== "user" || !Array.isArray(message["parts"])) return null;
  const parts = message["parts"].map(readPart).filter((part) => part !== null);
  if (parts.length === 0) return null;
  const own = message["id"];
  const isId = typeof own === "string" && own !== "" && own.length <= MAX_ID_CHARACTERS;
  return toMessage(isId ? own : id, parts, message["metadata"]);
}

const toMessage = (id: string, parts: UIMessage["parts"], metadata?: unknown): UIMessage => ({
  id,
  role: "user",
  parts,
  ...(metadata !== undefined && { metadata }),
});

/** Whether it is to be answered as soon as the answer that is being written can end. Its data comes from a browser and may be any JSON. */
export const isSteering = ({ data, steer }: Pick<InputRecord, "data" | "steer">): boolean =>
  steer || (isObject(data) && data["steer"] === true);
