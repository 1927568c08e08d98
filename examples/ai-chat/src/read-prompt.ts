import type {
  LanguageModelV4FilePart,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultPart,
} from "@ai-sdk/provider";

/** What a person has said last. */
export type Said = { text: string; files: LanguageModelV4FilePart[] };

/** What came of a call of a tool; `isRefused` when it has failed, or a person has denied it. */
export type Result = { toolName: string; value: unknown; isRefused: boolean };

function readSaid({ content }: LanguageModelV4Prompt[number] & { role: "user" }): Said {
  const text = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join(" ");
  return { text, files: content.filter((part) => part.type === "file") };
}

/** All that the person has said, oldest first. */
export const saidIn = (prompt: LanguageModelV4Prompt): Said[] =>
  prompt.flatMap((message) => (message.role === "user" ? [readSaid(message)] : []));

function readResult({ toolName, output }: LanguageModelV4ToolResultPart): Result {
  const value = "value" in output ? output.value : null;
  return { toolName, value, isRefused: output.type.startsWith("error") };
}

/** All that tools have given, oldest first. */
export const resultsIn = (prompt: LanguageModelV4Prompt): Result[] =>
  prompt.flatMap(({ role, content }) =>
    role === "tool" ? content.flatMap((part) => (part.type === "tool-result" ? [readResult(part)] : [])) : [],
  );

/** What came of the calls since the person has spoken. */
export const resultsSince = (prompt: LanguageModelV4Prompt): Result[] =>
  resultsIn(prompt.slice(prompt.findLastIndex(({ role }) => role === "user")));
