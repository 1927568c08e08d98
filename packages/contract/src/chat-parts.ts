import { nameOfFile, type ChatChunk } from "./chat-chunks.ts";

export type ToolCallState = "called" | "asked" | "approved" | "denied" | "done" | "failed";

/** What an answer of a chat is made of, in its order. */
export type ChatPart =
  | { kind: "text" | "reasoning"; id: string; text: string }
  | { kind: "error" | "file" | "source"; text: string }
  | ToolCallPart;

export type ToolCallPart = {
  kind: "tool";
  callId: string;
  tool: string;
  input: unknown;
  state: ToolCallState;
  /** The completion token that decides; null where nobody is asked. */
  approvalId: string | null;
  /** What it has given, or what went wrong; undefined before that. */
  output: unknown;
};

/** The parts with one more chunk. Parts that did not change are the same objects. */
export function addChatChunk(parts: readonly ChatPart[], chunk: ChatChunk): readonly ChatPart[] {
  switch (chunk.type) {
    case "text-start":
    case "reasoning-start":
      return [...parts, { kind: kindOf(chunk), id: chunk.id, text: "" }];
    case "text-delta":
    case "reasoning-delta":
      return addText(parts, { kind: kindOf(chunk), id: chunk.id, text: chunk.delta });
    case "file":
    case "reasoning-file":
      return [...parts, { kind: "file", text: nameOfFile(chunk) }];
    case "source-url":
      return [...parts, { kind: "source", text: [chunk.title, chunk.url].filter(isText).join(" ") }];
    case "source-document":
      return [...parts, { kind: "source", text: `${chunk.title} (${chunk.mediaType})` }];
    case "error":
      return [...parts, { kind: "error", text: chunk.errorText }];
    default:
      return addToTool(parts, chunk);
  }
}

/** What is said of a call that was under way when its answer was stopped, or has failed. */
export const CALL_STOPPED = "It was stopped before it was done.";

const UNDER_WAY: ReadonlySet<ToolCallState> = new Set(["called", "asked", "approved"]);

/** The parts of an answer that has ended before it was whole: nothing of it goes on, and nobody is asked any more. */
export const stopCalls = (parts: readonly ChatPart[]): readonly ChatPart[] =>
  parts.map((part) =>
    part.kind === "tool" && UNDER_WAY.has(part.state)
      ? { ...part, state: "failed", output: CALL_STOPPED }
      : part,
  );

const isText = (value: unknown): boolean => typeof value === "string" && value !== "";

const kindOf = ({ type }: ChatChunk): "text" | "reasoning" =>
  type.startsWith("text") ? "text" : "reasoning";

type TextPart = Extract<ChatPart, { id: string }>;

function addText(parts: readonly ChatPart[], { kind, id, text }: TextPart): readonly ChatPart[] {
  const at = parts.findLastIndex((part) => part.kind === kind && part.id === id);
  const before = parts[at] as TextPart | undefined;
  return before === undefined
    ? [...parts, { kind, id, text }]
    : parts.with(at, { ...before, text: before.text + text });
}

function addToTool(parts: readonly ChatPart[], chunk: ChatChunk): readonly ChatPart[] {
  switch (chunk.type) {
    case "tool-input-start":
    case "tool-input-available":
    case "tool-input-error": {
      const call = { callId: chunk.toolCallId, tool: chunk.toolName };
      const input = "input" in chunk ? chunk.input : undefined;
      if (chunk.type !== "tool-input-error") return setTool(parts, call, { input, state: "called" });
      return setTool(parts, call, { input, state: "failed", output: chunk.errorText });
    }
    case "tool-approval-request":
      return setTool(parts, ofCall(chunk), { state: "asked", approvalId: chunk.approvalId });
    case "tool-approval-response":
      return parts.map((part) =>
        part.kind === "tool" && part.approvalId === chunk.approvalId
          ? { ...part, state: chunk.approved === true ? "approved" : "denied" }
          : part,
      );
    case "tool-output-denied":
      return setTool(parts, ofCall(chunk), { state: "denied" });
    case "tool-output-error":
      return setTool(parts, ofCall(chunk), { state: "failed", output: chunk.errorText });
    case "tool-output-available": {
      const isLast = chunk.preliminary !== true;
      return setTool(parts, ofCall(chunk), { output: chunk.output, ...(isLast && { state: "done" }) });
    }
    default:
      return parts;
  }
}

const ofCall = ({ toolCallId }: { toolCallId: string }): Pick<ToolCallPart, "callId"> => ({
  callId: toolCallId,
});

/** Where its call has not been read, such as before an older page, the tool has no name. */
function setTool(
  parts: readonly ChatPart[],
  call: Pick<ToolCallPart, "callId"> & { tool?: string },
  change: Partial<ToolCallPart>,
): readonly ChatPart[] {
  const at = parts.findLastIndex((part) => part.kind === "tool" && part.callId === call.callId);
  const before = parts[at] as ToolCallPart | undefined;
  if (before !== undefined) return parts.with(at, { ...before, ...change });
  const begun = { tool: "", input: undefined, state: "called", approvalId: null, output: undefined } as const;
  return [...parts, { kind: "tool", ...begun, ...call, ...change }];
}
