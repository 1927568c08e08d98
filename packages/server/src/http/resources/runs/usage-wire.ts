import type { Usage, UsageAmount } from "@keelson/contract";
import { NANOS_PER_USD, sumUsage, type ModelUsage, type UsageSums } from "../../../core/runs/usage.ts";

const toSums = (sums: UsageSums): Omit<Usage, "models"> => ({
  calls: sums.calls,
  input_tokens: sums.inputTokens,
  output_tokens: sums.outputTokens,
  cached_input_tokens: sums.cachedInputTokens,
  reasoning_tokens: sums.reasoningTokens,
  cost_usd: sums.costNanos === null ? null : sums.costNanos / NANOS_PER_USD,
});

export const toUsage = (models: readonly ModelUsage[]): Usage => ({
  ...toSums(sumUsage(models)),
  models: models.map(({ model, ...sums }) => ({ model, ...toSums(sums) })),
});

/** What nobody has said counts as none; a cost that nobody has said is not known. */
export const toModelUsage = (amount: UsageAmount): ModelUsage => ({
  model: amount.model,
  calls: amount.calls ?? 1,
  inputTokens: amount.input_tokens ?? 0,
  outputTokens: amount.output_tokens ?? 0,
  cachedInputTokens: amount.cached_input_tokens ?? 0,
  reasoningTokens: amount.reasoning_tokens ?? 0,
  costNanos: amount.cost_usd === undefined ? null : Math.round(amount.cost_usd * NANOS_PER_USD),
});
