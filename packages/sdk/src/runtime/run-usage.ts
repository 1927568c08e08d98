import type { UsageAmount } from "@keelson/contract";
import { checkText } from "../json-text.ts";
import { UsageError } from "../keelson-error.ts";
import type { DurableRun } from "./durable/durable-run.ts";

/** What calls of a model used. */
export type UsedModel = {
  /** The model's name, of 1 to 200 characters. */
  model: string;
  /** How many calls. Default 1. */
  calls?: number;
  /** All of them, with those that were cached. Default 0. */
  inputTokens?: number | undefined;
  /** All of them, with those of reasoning. Default 0. */
  outputTokens?: number | undefined;
  /** Default 0. */
  cachedInputTokens?: number | undefined;
  /** Default 0. */
  reasoningTokens?: number | undefined;
  /** In US dollars. Default: nobody knows. */
  costUsd?: number | undefined;
};

/** `ctx.usage`. */
export type RunUsage = {
  /**
   * Adds what calls of a model used to the run, which the console sums for the session too. It says nothing again when the code is
   * replayed; inside of a step, each try counts, because each try is paid for. What a process has used that was killed before it could say
   * so is lost.
   *
   * Throws a UsageError for what is no number of tokens, calls or dollars.
   *
   * @example
   * ```ts
   * import { task } from "@keelson/sdk";
   *
   * export const summarize = task({
   *   id: "summarize",
   *   run: (text: string, { usage }) => {
   *     usage.add({ model: "example-large", inputTokens: 1200, outputTokens: 310, costUsd: 0.0042 });
   *   },
   * });
   * ```
   */
  add(used: UsedModel): void;
};

const MAX_NAME = 200;
const MAX = { calls: 1_000_000, tokens: 1_000_000_000_000, costUsd: 1_000_000 } as const;

function whole(name: string, value: number, least: number, most: number): number {
  if (!Number.isInteger(value) || value < least || value > most)
    throw new UsageError(`usage: ${name} is a whole number from ${least} to ${most}, not ${value}`);
  return value;
}

/** What nobody gave is left out. */
function tokens<Field extends string>(
  field: Field,
  name: string,
  value: number | undefined,
): Partial<Record<Field, number>> {
  if (value === undefined) return {};
  return { [field]: whole(name, value, 0, MAX.tokens) } as Record<Field, number>;
}

function toAmount({ model, calls, costUsd, ...used }: UsedModel): UsageAmount {
  if (typeof model !== "string" || model === "" || model.length > MAX_NAME)
    throw new UsageError(`usage: the name of a model has 1 to ${MAX_NAME} characters`);
  checkText(model, "the name of a model");
  if (costUsd !== undefined && !(costUsd >= 0 && costUsd <= MAX.costUsd))
    throw new UsageError(`usage: costUsd is a number from 0 to ${MAX.costUsd}, not ${costUsd}`);
  return {
    model,
    ...(calls !== undefined && { calls: whole("calls", calls, 1, MAX.calls) }),
    ...tokens("input_tokens", "inputTokens", used.inputTokens),
    ...tokens("output_tokens", "outputTokens", used.outputTokens),
    ...tokens("cached_input_tokens", "cachedInputTokens", used.cachedInputTokens),
    ...tokens("reasoning_tokens", "reasoningTokens", used.reasoningTokens),
    ...(costUsd !== undefined && { cost_usd: costUsd }),
  };
}

export const createUsage = (durable: DurableRun, isRepeated: () => boolean): RunUsage => ({
  add(used) {
    const amount = toAmount(used);
    if (isRepeated()) return;
    // A refusal ends the run by itself.
    durable.unjournaled({ kind: "usage", used: [amount] }).catch(() => undefined);
  },
});
