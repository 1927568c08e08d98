import type { LanguageModelV4Prompt, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { simulateReadableStream } from "ai";
import { MockLanguageModelV4 } from "ai/test";

/** What the model says in one call. */
export type Turn = {
  text?: string;
  /** Tools that it calls, with their input. */
  calls?: Record<string, unknown>;
  /** It breaks off with this after its text. */
  error?: Error;
  /** It never comes to its end. */
  hangs?: boolean;
};

const USAGE = {
  inputTokens: { total: 7, noCache: 7, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: undefined },
};

let calls = 0;

function* partsOf({
  text = "",
  calls: asked = {},
  error,
  hangs,
}: Turn): Generator<LanguageModelV4StreamPart> {
  yield { type: "stream-start", warnings: [] };
  if (text !== "") yield { type: "text-start", id: "0" };
  for (const delta of text.split(/(?<= )/)) if (delta !== "") yield { type: "text-delta", id: "0", delta };
  if (error !== undefined) return yield { type: "error", error };
  if (hangs === true) return;
  if (text !== "") yield { type: "text-end", id: "0" };
  for (const [toolName, input] of Object.entries(asked)) {
    calls += 1;
    yield { type: "tool-call", toolCallId: `call-${calls}`, toolName, input: JSON.stringify(input) };
  }
  const unified = Object.keys(asked).length > 0 ? "tool-calls" : "stop";
  yield { type: "finish", usage: USAGE, finishReason: { unified, raw: undefined } };
}

/** The AI SDK's own model for tests, which says what `answer` makes of the prompt. */
export const scriptedModel = (answer: (prompt: LanguageModelV4Prompt) => Turn): MockLanguageModelV4 =>
  new MockLanguageModelV4({
    doStream: async ({ prompt, abortSignal }) => {
      const turn = answer(prompt);
      const chunks = [...partsOf(turn)];
      if (turn.hangs !== true) return { stream: simulateReadableStream({ chunks, chunkDelayInMs: null }) };
      const stream = new ReadableStream<LanguageModelV4StreamPart>({
        start(controller) {
          for (const chunk of chunks) controller.enqueue(chunk);
          abortSignal?.addEventListener("abort", () => controller.error(abortSignal.reason));
        },
      });
      return { stream };
    },
  });

/** What was said in a prompt, a line each: texts, what tools were called with, and what they gave. */
export const readPrompt = (prompt: LanguageModelV4Prompt): string[] =>
  prompt.flatMap(({ role, content }) =>
    typeof content === "string"
      ? [`${role}: ${content}`]
      : content.map((part) => {
          if (part.type === "text") return `${role}: ${part.text}`;
          if (part.type === "tool-call") return `${role}: ${part.toolName}(${JSON.stringify(part.input)})`;
          if (part.type === "tool-result")
            return `${role}: ${part.toolName} = ${JSON.stringify(part.output)}`;
          return `${role}: ${part.type}`;
        }),
  );
