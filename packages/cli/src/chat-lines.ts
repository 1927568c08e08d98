import { nameOfFile, type ChatChunk, type ChatQuestion } from "@keelson/contract/chat";

/** What is printed of a record. Texts share a line with those before and after them in their message, up to an `end`. */
export type Printed = { kind: "text" | "end" | "line" | "notice"; text: string };

export type ChatLines = {
  read(chunk: ChatChunk): Printed[];
  readQuestion(question: ChatQuestion): Printed[];
};

const line = (text: string): Printed[] => [{ kind: "line", text }];

/**
 * A chat of the AI SDK in lines: what a person asked, the words of answers, and the tools that were called, with what they gave. What
 * the model thought is left out.
 *
 * @param toText how a value is printed
 */
export function createChatLines(toText: (value: unknown) => string): ChatLines {
  /** The names of the tools whose calls are under way. */
  const called = new Map<string, string>();
  const ofCall = (callId: string, said: string): Printed[] =>
    line(`[${called.get(callId) ?? "tool"}] ${said}`);
  const ended = (callId: string, said: string): Printed[] => {
    const printed = ofCall(callId, said);
    called.delete(callId);
    return printed;
  };
  return {
    readQuestion: ({ text, files }) => [
      ...(text === "" ? [] : text.split("\n").flatMap((each) => line(`> ${each}`))),
      ...files.flatMap((name) => line(`> [file] ${name}`)),
    ],
    read: (chunk) => {
      switch (chunk.type) {
        case "text-delta":
          return [{ kind: "text", text: chunk.delta }];
        case "text-end":
          return [{ kind: "end", text: "" }];
        case "tool-input-available":
          called.set(chunk.toolCallId, chunk.toolName);
          return ofCall(chunk.toolCallId, toText(chunk.input ?? null));
        case "tool-input-error":
          called.set(chunk.toolCallId, chunk.toolName);
          return ended(chunk.toolCallId, `failed: ${chunk.errorText}`);
        case "tool-approval-request": {
          const how = `keelson token complete ${chunk.approvalId} --data '{"approved":true}'`;
          return [
            {
              kind: "notice",
              text: `(${called.get(chunk.toolCallId) ?? "a tool"} waits for approval: ${how})`,
            },
          ];
        }
        case "tool-output-denied":
          return ended(chunk.toolCallId, "was denied");
        case "tool-output-error":
          return ended(chunk.toolCallId, `failed: ${chunk.errorText}`);
        case "tool-output-available":
          if (chunk.preliminary === true) return [];
          return ended(chunk.toolCallId, `gave ${toText(chunk.output ?? null)}`);
        case "file":
          return line(`[file] ${nameOfFile(chunk)}`);
        case "source-url":
          return line(`[source] ${chunk.url}`);
        case "source-document":
          return line(`[source] ${chunk.title}`);
        case "error":
          return [{ kind: "notice", text: `(${chunk.errorText})` }];
        default:
          return [];
      }
    },
  };
}
