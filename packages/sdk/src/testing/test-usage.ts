import type { UsageAmount } from "@keelson/contract";
import type { Usage } from "../client/resources.ts";

const NANOS_PER_USD = 1_000_000_000;

type Sums = Omit<Usage, "models">;

const NOTHING: Sums = {
  calls: 0,
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: 0,
  reasoningTokens: 0,
  costUsd: null,
};

/** To a billionth, as the server keeps it. */
const sumOfCosts = (a: number | null, b: number | null): number | null =>
  b === null ? a : Math.round((a ?? 0) * NANOS_PER_USD + b * NANOS_PER_USD) / NANOS_PER_USD;

const add = (a: Sums, b: Sums): Sums => ({
  calls: a.calls + b.calls,
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
  reasoningTokens: a.reasoningTokens + b.reasoningTokens,
  costUsd: sumOfCosts(a.costUsd, b.costUsd),
});

const toSums = (used: UsageAmount): Sums => ({
  calls: used.calls ?? 1,
  inputTokens: used.input_tokens ?? 0,
  outputTokens: used.output_tokens ?? 0,
  cachedInputTokens: used.cached_input_tokens ?? 0,
  reasoningTokens: used.reasoning_tokens ?? 0,
  costUsd: used.cost_usd ?? null,
});

/** In all and by model, the most calls first. */
export function sumUsage(used: readonly UsageAmount[]): Usage {
  const models = new Map<string, Sums>();
  for (const one of used) models.set(one.model, add(models.get(one.model) ?? NOTHING, toSums(one)));
  const rows = [...models].map(([model, sums]) => ({ model, ...sums }));
  return {
    ...[...models.values()].reduce(add, NOTHING),
    models: rows.toSorted((a, b) => b.calls - a.calls || (a.model < b.model ? -1 : 1)),
  };
}
