/**
 * Chats of the AI SDK as streams hold them, for whoever shows them without that SDK. A record is taken for a chunk or a message only
 * when each of its fields is known: nothing of another record goes unseen.
 *
 * https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol
 */

/** A piece of an answer, with the fields that are shown. */
export type ChatChunk =
  | { type: "text-start" | "text-end" | "reasoning-start" | "reasoning-end"; id: string }
  | { type: "text-delta" | "reasoning-delta"; id: string; delta: string }
  | { type: "tool-input-start"; toolCallId: string; toolName: string }
  | { type: "tool-input-available"; toolCallId: string; toolName: string; input?: unknown }
  | { type: "tool-input-error"; toolCallId: string; toolName: string; input?: unknown; errorText: string }
  | { type: "tool-approval-request"; toolCallId: string; approvalId: string }
  | { type: "tool-approval-response"; approvalId: string; approved?: unknown }
  | { type: "tool-output-available"; toolCallId: string; output?: unknown; preliminary?: unknown }
  | { type: "tool-output-error"; toolCallId: string; errorText: string }
  | { type: "tool-output-denied"; toolCallId: string }
  | { type: "file" | "reasoning-file"; url: string; mediaType: string }
  | { type: "source-url"; sourceId: string; url: string; title?: unknown }
  | { type: "source-document"; sourceId: string; title: string; mediaType: string }
  | { type: "error"; errorText: string }
  | { type: SilentChunk };

/** They change nothing that is shown. */
type SilentChunk =
  | "start"
  | "finish"
  | "abort"
  | "message-metadata"
  | "start-step"
  | "finish-step"
  | "tool-input-delta";

/** The fields of each chunk: those that it must have are texts, the others have a question mark. */
const FIELDS: Record<ChatChunk["type"], string> = {
  "text-start": "id",
  "text-delta": "id delta",
  "text-end": "id citations?",
  "reasoning-start": "id",
  "reasoning-delta": "id delta",
  "reasoning-end": "id",
  "tool-input-start": "toolCallId toolName inputEncoding? providerExecuted? toolMetadata? dynamic? title?",
  "tool-input-delta": "toolCallId inputTextDelta",
  "tool-input-available": "toolCallId toolName input? providerExecuted? toolMetadata? dynamic? title?",
  "tool-input-error": "toolCallId toolName errorText input? providerExecuted? toolMetadata? dynamic? title?",
  "tool-approval-request":
    "toolCallId approvalId approvalDescriptor? inputSchemaInput? reason? isAutomatic? signature?",
  "tool-approval-response": "approvalId approved? reason? providerExecuted?",
  "tool-output-available": "toolCallId output? providerExecuted? toolMetadata? dynamic? preliminary?",
  "tool-output-error": "toolCallId errorText providerExecuted? toolMetadata? dynamic?",
  "tool-output-denied": "toolCallId",
  file: "url mediaType",
  "reasoning-file": "url mediaType",
  "source-url": "sourceId url title?",
  "source-document": "sourceId title mediaType filename?",
  error: "errorText",
  start: "messageId? messageMetadata?",
  finish: "finishReason? messageMetadata?",
  abort: "reason?",
  "message-metadata": "messageMetadata?",
  "start-step": "",
  "finish-step": "",
};

type Shape = { texts: readonly string[]; known: ReadonlySet<string> };

const SHAPES = new Map(
  Object.entries(FIELDS).map(([type, fields]): [string, Shape] => {
    const names = fields.split(" ").filter((name) => name !== "");
    const known = new Set(["type", "providerMetadata", ...names.map((name) => name.replace("?", ""))]);
    return [type, { texts: names.filter((name) => !name.endsWith("?")), known }];
  }),
);

type Fields = Record<string, unknown>;

const isFields = (data: unknown): data is Fields =>
  typeof data === "object" && data !== null && !Array.isArray(data);

/** Whether a piece of a message is a chunk. Not for data chunks, which are what their application makes of them. */
export function isChatChunk(data: unknown): data is ChatChunk {
  if (!isFields(data) || typeof data["type"] !== "string") return false;
  const shape = SHAPES.get(data["type"]);
  return (
    shape !== undefined &&
    shape.texts.every((name) => typeof data[name] === "string") &&
    Object.keys(data).every((name) => shape.known.has(name))
  );
}

/** What a person has said: the texts, and what the files are called. */
export type ChatQuestion = { id: string; text: string; files: readonly string[] };

/** A message of a person as a chat's input stream has it, in `message`, or its output stream. Null for other data. */
export function readChatQuestion(data: unknown): ChatQuestion | null {
  if (!isFields(data)) return null;
  const { message: inner, steer: _steer, ...beside } = data;
  const message = inner !== undefined && Object.keys(beside).length === 0 ? inner : data;
  if (!isFields(message) || message["role"] !== "user") return null;
  const { id, parts, metadata: _metadata, role: _role, ...others } = message;
  if (typeof id !== "string" || !Array.isArray(parts) || Object.keys(others).length > 0) return null;
  const read = parts.filter(isFields);
  const texts = read.flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : []));
  const files = read.flatMap((part) => (part["type"] === "file" ? [nameOfFile(part)] : []));
  if (texts.length + files.length < parts.length) return null;
  return { id, text: texts.join("\n"), files };
}

/** A file's name, or else what it is and where. A file that stands in its own address has none. */
export function nameOfFile({ filename, mediaType, url }: Fields): string {
  if (typeof filename === "string" && filename !== "") return filename;
  const address = typeof url === "string" && !url.startsWith("data:") ? url : "";
  return [mediaType, address].filter((word) => typeof word === "string" && word !== "").join(" ");
}
