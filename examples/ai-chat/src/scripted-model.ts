import { ReadableStream } from "node:stream/web";
import { setTimeout } from "node:timers/promises";
import type { LanguageModelV4Prompt, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { MockLanguageModelV4 } from "ai/test";

/** What a script says in one call. */
export type Turn = {
  /** What it thinks before it speaks. */
  reasoning?: string;
  text?: string;
  /** A tool that it calls then, with its input. */
  call?: [tool: string, input: object];
};

/** Stands where a model would be: what is said next, from all that was said. */
export type Script = (prompt: LanguageModelV4Prompt) => Turn;

/** Between two words, so that one sees the answer grow. */
const PAUSE_MS = 25;

/** A script says nothing of tokens. */
const USAGE = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

/** Words with the space behind them. */
const wordsOf = (text: string): string[] => text.match(/\S+\s*/g) ?? [];

async function* partsOf(
  { reasoning = "", text = "", call }: Turn,
  signal: AbortSignal | undefined,
): AsyncGenerator<LanguageModelV4StreamPart> {
  yield { type: "stream-start", warnings: [] };
  for (const [kind, words] of [
    ["reasoning", wordsOf(reasoning)],
    ["text", wordsOf(text)],
  ] as const) {
    if (words.length === 0) continue;
    yield { type: `${kind}-start`, id: kind };
    for (const delta of words) {
      await setTimeout(PAUSE_MS, undefined, { ...(signal !== undefined && { signal }) });
      yield { type: `${kind}-delta`, id: kind, delta };
    }
    yield { type: `${kind}-end`, id: kind };
  }
  if (call !== undefined) {
    const [toolName, input] = call;
    yield { type: "tool-call", toolCallId: crypto.randomUUID(), toolName, input: JSON.stringify(input) };
  }
  const unified = call === undefined ? "stop" : "tool-calls";
  yield { type: "finish", usage: USAGE, finishReason: { unified, raw: undefined } };
}

/** The AI SDK's own model for tests, which says word by word what the script says. */
export const scriptedModel = (script: Script): MockLanguageModelV4 =>
  new MockLanguageModelV4({
    provider: "script",
    modelId: "script",
    doStream: async ({ prompt, abortSignal }) => ({
      stream: ReadableStream.from(partsOf(script(prompt), abortSignal)),
    }),
  });
