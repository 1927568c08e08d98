import type { LanguageModelUsage } from "ai";
import type { RunContext } from "../context.ts";
import type { UsedModel } from "../runtime/run-usage.ts";
import type { AnswerOptions } from "./chat-options.ts";

/** A call of a model that has come to its end, as the AI SDK tells of it. */
export type ModelCall = { model: { modelId: string }; usage: LanguageModelUsage };

const MAX_NAME = 200;

/** Providers say what they like: an answer does not fail for it. */
const count = (tokens: number | undefined): number | undefined =>
  tokens !== undefined && Number.isSafeInteger(tokens) && tokens >= 0 ? tokens : undefined;

/** Adds what a call of a model used to the run, as far as its provider has said it. */
export function countUsage({ model, usage }: ModelCall, ctx: RunContext, { costOf }: AnswerOptions): void {
  const used: UsedModel = {
    model: model.modelId.slice(0, MAX_NAME) || "unknown",
    inputTokens: count(usage.inputTokens),
    outputTokens: count(usage.outputTokens),
    cachedInputTokens: count(usage.inputTokenDetails.cacheReadTokens),
    reasoningTokens: count(usage.outputTokenDetails.reasoningTokens),
  };
  ctx.usage.add({ ...used, costUsd: costOf?.(used) });
}
